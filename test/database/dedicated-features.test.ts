import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantDb, TenantRef } from "../../src/database/types.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

// Whatever a migration can make has to work in a schema of a tenant's own as it does in the shared one.

const MIGRATION = `create extension if not exists pg_trgm with schema extensions;
create type public.state as enum ('open', 'paid');
create sequence public.invoice_numbers start 100;
grant usage on sequence public.invoice_numbers to rowhouse_app;
create table global.currencies (code text primary key);
insert into global.currencies values ('EUR'), ('BRL');
create function public.shout(word text) returns text language sql immutable as $$ select upper(word) || '!' $$;
grant execute on function public.shout(text) to rowhouse_app;
create function public.stamp() returns trigger language plpgsql as $$ begin new.stamped := shout(new.name); return new; end $$;
grant execute on function public.stamp() to rowhouse_app;
create table public.invoices (
  tenant_id uuid not null default rowhouse.current_tenant(),
  id uuid not null default rowhouse.uuid_v7(),
  number integer not null default nextval('public.invoice_numbers'),
  line serial,
  identity integer generated always as identity,
  state public.state not null default 'open',
  currency text not null default 'EUR' references global.currencies (code),
  random uuid not null default gen_random_uuid(),
  name text not null,
  stamped text,
  doubled integer generated always as (char_length(name) * 2) stored,
  primary key (tenant_id, id),
  unique (tenant_id, number)
);
create index invoices_name on public.invoices using gin (name extensions.gin_trgm_ops);
create trigger stamp before insert on public.invoices for each row execute function public.stamp();
create view public.open_invoices with (security_invoker = true) as select * from public.invoices where state = 'open'::public.state;
grant select on public.open_invoices to rowhouse_app;`;

let server: TestDatabase;
let database: Database;
let folder: string;
let tenants: Record<"shared" | "schema", TenantRef>;

beforeAll(async () => {
  server = await createTestDatabase();
  folder = await mkdtemp(path.join(tmpdir(), "rowhouse-features-"));
  await writeFile(path.join(folder, "0001_everything.sql"), MIGRATION);
  const fixtures = { source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") };
  const folders = [fixtures, { source: "app", path: folder }];
  const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  await migrate({ ownerUrl, rolePrefix, folders });
  await using owner = await server.connectAsOwner();
  const schema = await createDedicatedTenant(owner, { slug: "own" }, { adminUrl, ownerUrl, rolePrefix, folders });
  const shared = await server.createTenant();
  tenants = { schema, shared: { id: shared.id, placement: "shared", epoch: 1 } };
  const options = {
    url: server.appUrl,
    poolSize: 2,
    tenantLimit: 2,
    preparedStatements: true,
    applicationName: "test",
  };
  database = createDatabase({ ...options, onError: () => {} });
});

afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
  await server.drop();
});

async function run<Result>(tenant: TenantRef, work: (db: TenantDb) => Promise<Result>): Promise<Result> {
  const transaction = database.open(tenant);
  try {
    const result = await work(transaction.db);
    await transaction.commit();
    return result;
  } finally {
    await transaction.rollback();
  }
}

describe.each(["shared", "schema"] as const)("in the placement %s", (placement) => {
  it("defaults, sequences, identity, enums, triggers and generated columns work", async () => {
    const { rows } = await run(tenants[placement], (db) =>
      db.execute(
        sql`insert into invoices (name) values ('first'), ('second') returning number, line, identity, state, stamped, doubled, tenant_id`,
      ),
    );
    expect(rows).toEqual([
      {
        number: 100,
        line: 1,
        identity: 1,
        state: "open",
        stamped: "FIRST!",
        doubled: 10,
        tenant_id: tenants[placement].id,
      },
      {
        number: 101,
        line: 2,
        identity: 2,
        state: "open",
        stamped: "SECOND!",
        doubled: 12,
        tenant_id: tenants[placement].id,
      },
    ]);
  });

  it("functions of extensions and of the application, views and enum casts work", async () => {
    const { rows } = await run(tenants[placement], (db) =>
      db.execute(sql`select name, similarity(name, 'frist') > 0.1 as similar, shout(name) as shout, name % 'first' as matches
        from open_invoices where state = 'open'::state order by name`),
    );
    expect(rows).toEqual([
      { name: "first", similar: true, shout: "FIRST!", matches: true },
      { name: "second", similar: false, shout: "SECOND!", matches: false },
    ]);
  });

  it("refuses what the schema refuses", async () => {
    const insert = (values: string) =>
      run(tenants[placement], (db) =>
        db.execute(
          sql.raw(`insert into invoices (name, ${values.split("=")[0]}) values ('x', ${values.split("=")[1]})`),
        ),
      );
    await expect(insert("number=100")).rejects.toMatchObject({ code: "ERR_UNIQUE_VIOLATION" });
    await expect(insert("currency='XXX'")).rejects.toMatchObject({ code: "ERR_FOREIGN_KEY_VIOLATION" });
    await expect(insert("state='gone'")).rejects.toMatchObject({ code: "ERR_DATA_INVALID" });
  });
});
