import path from "node:path";
import { sql } from "drizzle-orm";
import type { SqlConnection } from "../../../src/database/sql-connection.ts";
import type { TenantDb } from "../../../src/database/types.ts";
import { migrate } from "../../../src/migrations/migrate.ts";
import { createTestDatabase, templateMigrations, type TestDatabase } from "../../helpers/database.ts";

const folder = (name: string) => path.join(import.meta.dirname, "../../fixtures", name);

/** The migrations of test/fixtures/move, and what the template has. */
export const bankMigrations = [templateMigrations, { source: "bank", path: folder("move") }];
export const triggerMigrations = [...bankMigrations, { source: "audit", path: folder("move-triggers") }];

/** A database with the bank's tables. */
export async function createBankDatabase(folders = bankMigrations): Promise<TestDatabase> {
  const server = await createTestDatabase();
  await migrate({ ownerUrl: server.ownerUrl, rolePrefix: server.rolePrefix, folders });
  return server;
}

/** Fills a tenant with rows of every kind, as the application. */
export async function fillBank(db: TenantDb, accounts = 20, transfers = 60): Promise<void> {
  await db.execute(sql`
    insert into accounts (name, balance, labels, details)
    select 'account ' || n, n * 100, array['a', 'b "c"', null], jsonb_build_object('n', n)
    from generate_series(1, ${accounts}::integer) n`);
  await db.execute(
    sql`update accounts set parent_id = (select id from accounts where number = (select min(number) from accounts))`,
  );
  await db.execute(sql`
    insert into transfers (from_id, to_id, amount, state)
    select f.id, t.id, n, case n % 2 when 0 then 'pending' else 'booked' end::transfer_state
    from generate_series(1, ${transfers}::integer) n
    join (select id, row_number() over (order by id) as r, count(*) over () as c from accounts) f on f.r = n % f.c + 1
    join (select id, row_number() over (order by id) as r, count(*) over () as c from accounts) t on t.r = (n + 1) % t.c + 1`);
  await db.execute(
    sql`update accounts a set main_transfer_id = (select id from transfers t where t.from_id = a.id limit 1)`,
  );
  await db.execute(sql`
    insert into entries (transfer_id, account_id, amount, booked_on)
    select id, from_id, -amount, date '2025-12-31' from transfers union all select id, to_id, amount, date '2026-02-01' from transfers`);
  await db.execute(sql`insert into notes (body) select 'note ' || n from generate_series(1, 5) n`);
  await db.execute(sql`insert into note_tags (note_id, tag) select id, 'tag' from notes`);
}

const TABLES = ["accounts", "transfers", "entries", "notes", "note_tags"];

/** A tenant's rows in a schema, as text: what must be the same before and after. */
export async function rowsIn(connection: SqlConnection, schema: string, tenantId: string, tables = TABLES) {
  const rows: Record<string, string[]> = {};
  for (const table of tables) {
    const result = await connection.query<{ row: string }>(
      `select t::text as row from ${schema}.${table} t where tenant_id = $1 order by 1`,
      [tenantId],
    );
    rows[table] = result.rows.map(({ row }) => row);
  }
  return rows;
}
