import { randomBytes } from "node:crypto";
import path from "node:path";
import { inject } from "vitest";
import { withRolePrefix } from "../../src/database/role-names.ts";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { initDatabase } from "../../src/migrations/init-database.ts";
import { migrate } from "../../src/migrations/migrate.ts";

const adminBase = () => inject("testCluster").adminUrl;

const PASSWORDS = { owner: "owner-password", app: "app-password", worker: "worker-password" };
const MIGRATIONS = { source: "shop", path: path.join(import.meta.dirname, "shop") };

/** The two tenants of a shop database; both have rows in every table of it. */
export const TENANT_A = "00000000-0000-4000-8000-00000000000a";
export const TENANT_B = "00000000-0000-4000-8000-00000000000b";

/** A migrated, seeded database of test/doctor/shop, with roles of its own: they may be ill-treated. */
export interface ShopDatabase extends AsyncDisposable {
  readonly name: string;
  readonly rolePrefix: string;
  readonly ownerUrl: string;
  readonly appUrl: string;
  /** The test server's administrator: a superuser. */
  readonly admin: SqlConnection;
  readonly owner: SqlConnection;
  readonly app: SqlConnection;
  /** Replaces `rowhouse_app` and the like by this database's role names. */
  sql(text: string): string;
}

export interface Shop extends AsyncDisposable {
  /** A fresh copy. Role names are shared by all copies. */
  clone(): Promise<ShopDatabase>;
}

function urlOf(database: string, user?: keyof typeof PASSWORDS, rolePrefix?: string): string {
  const url = new URL(adminBase());
  url.pathname = `/${database}`;
  if (user !== undefined) {
    url.username = `${rolePrefix}_${user}`;
    url.password = PASSWORDS[user];
  }
  return url.href;
}

const init = (database: string, rolePrefix: string) =>
  initDatabase({ adminUrl: urlOf(database), rolePrefix, passwords: PASSWORDS });

/** Makes the shop once: each copy is then a clone of its database. */
export async function createShop(): Promise<Shop> {
  // Below the run's own prefix, so that what a killed run leaves is removed by the next.
  const rolePrefix = `${inject("testCluster").rolePrefix}_${randomBytes(3).toString("hex")}`;
  const template = `${rolePrefix}_template`;
  await init(template, rolePrefix);
  const ownerUrl = urlOf(template, "owner", rolePrefix);
  await migrate({ ownerUrl, rolePrefix, folders: [MIGRATIONS] });
  await seed(ownerUrl);
  let count = 0;
  return {
    clone: () => cloneShop(template, `${rolePrefix}_${++count}`, rolePrefix),
    [Symbol.asyncDispose]: () => dropShop(template, rolePrefix),
  };
}

/** Grants and settings of the database itself are not copied with it, so it is initialised again. */
async function cloneShop(template: string, name: string, rolePrefix: string): Promise<ShopDatabase> {
  await asAdmin(`create database ${name} template ${template}`);
  await init(name, rolePrefix);
  const [ownerUrl, appUrl] = [urlOf(name, "owner", rolePrefix), urlOf(name, "app", rolePrefix)];
  const [admin, owner, app] = (await Promise.all(
    [urlOf(name), ownerUrl, appUrl].map((url) => connectSql(url, "test shop")),
  )) as [SqlConnection, SqlConnection, SqlConnection];
  return {
    name,
    rolePrefix,
    ownerUrl,
    appUrl,
    admin,
    owner,
    app,
    sql: (text) => withRolePrefix(text, rolePrefix),
    async [Symbol.asyncDispose]() {
      await Promise.all([admin, owner, app].map((connection) => connection.end()));
      await asAdmin(`drop database ${name} with (force)`);
    },
  };
}

async function dropShop(template: string, rolePrefix: string): Promise<void> {
  await asAdmin(`drop database ${template} with (force)`);
  for (const kind of ["owner", "app", "worker", "queue", "tenant"]) await asAdmin(`drop role ${rolePrefix}_${kind}`);
}

async function asAdmin(statement: string): Promise<void> {
  await using admin = await connectSql(adminBase(), "test shop");
  await admin.query(statement);
}

async function seed(ownerUrl: string): Promise<void> {
  await using owner = await connectSql(ownerUrl, "test shop");
  for (const tenant of [TENANT_A, TENANT_B]) {
    const letter = tenant.at(-1)!;
    await owner.query("insert into rowhouse.tenants (id, slug, name) values ($1, $2, $2)", [
      tenant,
      `tenant-${letter}`,
    ]);
    await owner.query(
      "insert into rowhouse.domains (domain, tenant_id, verified_at) values ($2, $1, pg_catalog.now())",
      [tenant, `${letter}.example.com`],
    );
    await owner.query(
      `insert into rowhouse.api_keys (tenant_id, prefix, secret_hash, name)
       values ($1, pg_catalog.repeat($2, 12), pg_catalog.sha256(pg_catalog.convert_to($2, 'utf8')), 'key')`,
      [tenant, letter],
    );
    await owner.query(
      `with customer as (
         insert into public.customers (tenant_id, email) values ($1, $2) returning tenant_id, id
       ), visit as (
         insert into public.visits (tenant_id) values ($1)
       )
       insert into public.orders (tenant_id, customer_id, total_cents) select c.tenant_id, c.id, 200000 from customer c`,
      [tenant, `someone@${letter}.example.com`],
    );
  }
  await owner.query("insert into global.plans (code, name) values ('free', 'Free')");
}
