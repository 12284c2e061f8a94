import { randomBytes } from "node:crypto";
import type { TestProject } from "vitest/node";
import { connectSql, type SqlConnection } from "../src/database/sql-connection.ts";
import { initDatabase } from "../src/migrations/init-database.ts";
import { migrate } from "../src/migrations/migrate.ts";
import { templateMigrations } from "./helpers/database.ts";
import { startTestServer } from "./helpers/test-server.ts";
import { urlAt, type TestCluster } from "./helpers/test-cluster.ts";

declare module "vitest" {
  interface ProvidedContext {
    testCluster: TestCluster;
  }
}

/**
 * Finds or starts a PostgreSQL and makes the template that each test file clones (helpers/database.ts). Roles belong to
 * the server, so this run's have a prefix of their own: runs side by side on one server do not meet.
 *
 * @returns removes all of it, also after failures. Of a run that was interrupted or killed, the next one does.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer();
  const rolePrefix = `rhtest_${randomBytes(3).toString("hex")}`;
  const admin = await connectSql(server.adminUrl, runName(rolePrefix));
  const teardown = async () => {
    try {
      // Of its own: a test may have crashed the server, and with it the run's connection.
      await using connection = await connectSql(server.adminUrl, "rowhouse tests teardown");
      await removeRun(connection, rolePrefix);
    } finally {
      await admin.end();
      await server.stop();
    }
  };
  try {
    await removeDeadRuns(admin);
    const cluster = await makeTemplate(server.adminUrl, admin, rolePrefix);
    project.provide("testCluster", cluster);
    // For tests that provision databases themselves, and for the programs that tests run.
    process.env["TEST_DATABASE_URL"] = server.adminUrl;
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

async function makeTemplate(adminUrl: string, admin: SqlConnection, rolePrefix: string): Promise<TestCluster> {
  const newPassword = () => randomBytes(12).toString("hex");
  const passwords = { owner: newPassword(), app: newPassword(), worker: newPassword() };
  const provisionerUrl = await makeProvisioner(adminUrl, admin, `${rolePrefix}_admin`, newPassword());
  const cluster = { adminUrl, provisionerUrl, rolePrefix, template: `${rolePrefix}_template`, passwords };
  await initDatabase({ adminUrl: provisionerUrl, database: cluster.template, rolePrefix, passwords });
  await migrate({
    ownerUrl: urlAt(cluster, cluster.template, "owner"),
    rolePrefix,
    folders: [templateMigrations],
  });
  return cluster;
}

/** Managed servers give nobody a superuser, so the template is made without one: by a role that can do just this. */
async function makeProvisioner(
  adminUrl: string,
  admin: SqlConnection,
  role: string,
  password: string,
): Promise<string> {
  const { rows } = await admin.query("select from pg_catalog.pg_roles where rolname = current_user and rolsuper");
  if (rows.length === 0) return adminUrl;
  await admin.query(`create role ${role} login createrole createdb password '${password}'`);
  return Object.assign(new URL(adminUrl), { username: role, password }).href;
}

const runName = (rolePrefix: string) => `rowhouse tests ${rolePrefix}`;

/** Removes what interrupted and killed runs have left: vitest ends at once on a signal. A run that lives has a connection of its name. */
async function removeDeadRuns(admin: SqlConnection): Promise<void> {
  // One at a time, or two would drop the same.
  await admin.query("select pg_catalog.pg_advisory_lock(72360003)");
  const { rows } = await admin.query<{ prefix: string }>(
    `with names as (
       select datname::text as name from pg_catalog.pg_database
       union all select rolname::text from pg_catalog.pg_roles
     ), runs as (
       select distinct substring(name from '^(rhtest_[0-9a-f]{6})_') as prefix from names
     )
     select prefix from runs where prefix is not null and not exists (
       select from pg_catalog.pg_stat_activity a where a.application_name = $1 || prefix
     )`,
    [runName("")],
  );
  for (const { prefix } of rows) await removeRun(admin, prefix);
  await admin.query("select pg_catalog.pg_advisory_unlock(72360003)");
}

async function removeRun(admin: SqlConnection, rolePrefix: string): Promise<void> {
  // The roles' maker goes last: from PostgreSQL 16 on it cannot, while memberships that it has granted are left.
  const { rows } = await admin.query<{ statement: string }>(
    `select 1 as step, pg_catalog.format('drop database if exists %I with (force)', datname) as statement
       from pg_catalog.pg_database where pg_catalog.starts_with(datname, $1)
     union all
     select case when rolname = $1 || 'admin' then 3 else 2 end, pg_catalog.format('drop role if exists %I', rolname)
       from pg_catalog.pg_roles where pg_catalog.starts_with(rolname, $1)
     order by step`,
    [`${rolePrefix}_`],
  );
  for (const { statement } of rows) await admin.query(statement);
}
