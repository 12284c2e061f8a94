import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { features, migrations, resolvers } from "../examples/invoicing/src/app.ts";
import { z } from "zod";
import { connectSql, type SqlConnection } from "../src/database/sql-connection.ts";
import { defineJob } from "../src/jobs/define-job.ts";
import { cancelJobs } from "../src/jobs/operate-jobs.ts";
import { createRowhouse, type Rowhouse } from "../src/rowhouse.ts";
import { createApiKey } from "../src/lifecycle/api-keys.ts";
import type { ProvisionOptions } from "../src/lifecycle/provision-schema.ts";
import { createDedicatedTenant, createTenant } from "../src/lifecycle/tenants.ts";
import { initDatabase } from "../src/migrations/init-database.ts";
import { migrate } from "../src/migrations/migrate.ts";
import { startTestServer } from "../test/helpers/test-server.ts";

export interface ExampleDatabase extends AsyncDisposable {
  readonly rolePrefix: string;
  readonly appUrl: string;
  readonly ownerUrl: string;
  readonly adminUrl: string;
}

/**
 * The invoicing example's database with two tenants' rows in every shared table and a third's in a schema of its own, on a throw-away server (or TEST_DATABASE_URL's),
 * with roles of its own. All of it is removed in the end.
 */
export async function openExampleDatabase(): Promise<ExampleDatabase> {
  const server = await startTestServer();
  const rolePrefix = `rhex_${randomBytes(3).toString("hex")}`;
  const password = randomBytes(16).toString("hex");
  const urlAs = (user?: string) => {
    const url = new URL(server.adminUrl);
    url.pathname = `/${rolePrefix}`;
    return user === undefined ? url.href : Object.assign(url, { username: `${rolePrefix}_${user}`, password }).href;
  };
  const [ownerUrl, appUrl] = [urlAs("owner"), urlAs("app")];
  const passwords = { owner: password, app: password, worker: password };
  await initDatabase({ adminUrl: urlAs(), rolePrefix, passwords });
  await migrate({ ownerUrl, rolePrefix, folders: migrations });
  await fill(appUrl, { adminUrl: urlAs(), ownerUrl, rolePrefix, folders: migrations });
  return {
    rolePrefix,
    appUrl,
    ownerUrl,
    adminUrl: urlAs(),
    async [Symbol.asyncDispose]() {
      {
        await using admin = await connectSql(server.adminUrl, "rowhouse example");
        await admin.query(`drop database ${rolePrefix} with (force)`);
        const { rows } = await admin.query<{ name: string }>(
          "select rolname as name from pg_catalog.pg_roles where pg_catalog.starts_with(rolname, $1)",
          [`${rolePrefix}_`],
        );
        for (const { name } of rows) await admin.query(`drop role ${name}`);
      }
      await server.stop();
    },
  };
}

async function fill(appUrl: string, options: ProvisionOptions): Promise<void> {
  const tokens = { secret: randomBytes(48).toString("hex"), issuer: "example", audience: "example" };
  await using rowhouse = await createRowhouse({ url: appUrl, features, resolvers: resolvers(tokens), log: "silent" });
  await using owner = await connectSql(options.ownerUrl, "rowhouse example");
  const acme = await createTenant(owner, { slug: "acme" });
  const globex = await createTenant(owner, { slug: "globex" });
  const initech = await createDedicatedTenant(owner, { slug: "initech" }, options);
  for (const { id } of [acme, globex, initech]) {
    await createApiKey(owner, id, { name: "example", scopes: [] });
    await rowhouse.withTenant(id, async (db) => {
      for (const feature of features) await feature.seed?.(db);
      await db.execute(
        sql`select rowhouse.store_idempotent_answer('example', sha256('example'), 200::smallint, '{}', 'example')`,
      );
    });
    await fillQueue(rowhouse, owner, id);
  }
}

const exampleJob = defineJob("example", { payload: z.null(), run: () => Promise.resolve() });

/** One job that is ready, one that waits, one that is dead, and one that has ended. */
async function fillQueue(rowhouse: Rowhouse, owner: SqlConnection, tenantId: string): Promise<void> {
  const [, , dead, ended] = await rowhouse.withTenant(tenantId, async (db) => [
    await exampleJob.enqueue(db, null),
    await exampleJob.enqueue(db, null, { delay: 3_600_000 }),
    await exampleJob.enqueue(db, null),
    await exampleJob.enqueue(db, null),
  ]);
  await cancelJobs(owner, [ended.id]);
  await owner.query(
    `insert into rowhouse.dead_jobs
       (tenant_id, id, type, queue, priority, payload, payload_version, attempts, max_attempts, created_at, failures)
     select tenant_id, id, type, queue, priority, payload, payload_version, max_attempts, max_attempts, created_at, '[]'
     from rowhouse.jobs where id = $1`,
    [dead.id],
  );
}
