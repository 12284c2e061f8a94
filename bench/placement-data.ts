import path from "node:path";
import { sql } from "drizzle-orm";
import { tenantSchema } from "../src/database/role-names.ts";
import { connectSql, type SqlConnection } from "../src/database/sql-connection.ts";
import { createDedicatedTenant, createTenant } from "../src/lifecycle/tenants.ts";
import { migrate } from "../src/migrations/migrate.ts";
import { type BenchServer, openBenchServer } from "./setup.ts";

export const LARGE = Number(process.env["ROWS"] ?? 500_000);
const SMALL_TENANTS = 100;
const NOTES = 1_000;

const folder = (source: string) => ({ source, path: path.join(import.meta.dirname, "migrations", source) });
export const FOLDERS = [folder("placement"), folder("placement-indexes")];

export interface PlacementDatabase extends BenchServer {
  /** Two tenants with the same rows, one in each placement. */
  readonly shared: string;
  readonly dedicated: string;
}

/**
 * Documents: {@link LARGE} of a tenant in the shared table, twice as many of a hundred others beside it, and the same as the first in a
 * schema of its own. The indexes are made when the rows are there.
 */
export async function openPlacementDatabase(): Promise<PlacementDatabase> {
  const server = await openBenchServer();
  const { ownerUrl, adminUrl } = server;
  const rolePrefix = "rowhouse";
  await migrate({ ownerUrl, rolePrefix, folders: [folder("placement")] });
  await using owner = await connectSql(ownerUrl, "bench");
  const shared = (await createTenant(owner, { slug: "shared" })).id;
  const options = { adminUrl, ownerUrl, rolePrefix, folders: [folder("placement")] };
  const dedicated = (await createDedicatedTenant(owner, { slug: "dedicated" }, options)).id;
  await fill(owner, "public", shared, LARGE);
  for (let n = 0; n < SMALL_TENANTS; n += 1) {
    const { id } = await createTenant(owner, { slug: `small-${n}` });
    await fill(owner, "public", id, (2 * LARGE) / SMALL_TENANTS);
  }
  await fill(owner, tenantSchema(dedicated), dedicated, LARGE);
  await migrate({ ownerUrl, rolePrefix, folders: FOLDERS });
  for (const schema of ["public", tenantSchema(dedicated)]) {
    await owner.query(`vacuum analyze ${schema}.documents, ${schema}.notes`);
  }
  return { ...server, shared, dedicated };
}

/** Rows that are the same for every tenant, up to the number. */
async function fill(owner: SqlConnection, schema: string, tenantId: string, rows: number): Promise<void> {
  await owner.query(
    `insert into ${schema}.documents (tenant_id, title, attributes, tags, search, created_at)
     select $1::uuid, pg_catalog.md5(n::text), pg_catalog.jsonb_build_object('sku', n % 50000, 'colour', n % 7, 'name', 'product ' || n),
       array['t' || n % 50000, 'u' || n % 11],
       pg_catalog.to_tsvector('simple', 'w' || n % 50000 || ' v' || n % 1000 || ' and some more words'),
       timestamptz '2026-01-01' + n * interval '1 second'
     from pg_catalog.generate_series(1, $2::integer) n`,
    [tenantId, rows],
  );
  await owner.query(
    `insert into ${schema}.notes (tenant_id, body) select $1::uuid, 'note ' || n from pg_catalog.generate_series(1, $2::integer) n`,
    [tenantId, NOTES],
  );
}

/** What is asked, with another value each time. */
export const QUERIES = {
  jsonb: (n: number) =>
    sql`select id, title from documents where attributes @> ${JSON.stringify({ sku: n % 50_000 })}::jsonb`,
  fulltext: (n: number) =>
    sql`select id, title from documents where search @@ to_tsquery('simple', ${`w${n % 50_000}`})`,
  like: (n: number) =>
    sql`select id, title from documents where title like ${`${(n % 1_048_576).toString(16).padStart(5, "0")}%`}`,
  array: (n: number) => sql`select id, title from documents where tags && array[${`t${n % 50_000}`}]`,
  point: (_n: number, id: string) => sql`select id, title from documents where id = ${id}`,
  list: () => sql`select id, title from documents order by created_at desc limit 20`,
  insert: (n: number) =>
    sql`insert into documents (title, attributes, tags, search)
        values (${`inserted ${n}`}, '{}', '{}', to_tsvector('simple', ${`inserted ${n}`})) returning id`,
} as const;
