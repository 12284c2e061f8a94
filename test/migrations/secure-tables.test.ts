import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { connectSql } from "../../src/database/sql-connection.ts";
import { DefinitionInvalid, MigrationFailed, type RowhouseError } from "../../src/errors.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { secureTables } from "../../src/migrations/secure-tables.ts";
import { asTenant, makeScratch, TENANT, type Scratch } from "./scratch.ts";

const ORDERS = `create table orders (
  tenant_id uuid not null default rowhouse.current_tenant(), id serial, number int generated always as identity, note text,
  primary key (tenant_id, id)
)`;

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was thrown"),
    (error: RowhouseError) => error,
  );

let scratch: Scratch;

beforeAll(async () => {
  scratch = await makeScratch();
  await migrate({ ownerUrl: scratch.url("owner"), rolePrefix: scratch.rolePrefix, folders: [] });
  await scratch.as("owner", `insert into rowhouse.tenants (id, slug, name) values ('${TENANT}', 'a', 'A')`);
});

afterEach(() =>
  scratch.as(
    "superuser",
    `drop event trigger if exists undo;
     do $$ declare item record; begin
       for item in
         select case when relkind = 'S' then 'sequence' else 'table' end as kind, c.oid::regclass as name
         from pg_class c where relnamespace in ('public'::regnamespace, 'global'::regnamespace) and relkind in ('r', 'p', 'S')
           and not relispartition and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
       loop
         execute format('drop %s %s cascade', item.kind, item.name);
       end loop;
     end $$`,
  ),
);

afterAll(() => scratch[Symbol.asyncDispose]());

/** Secures as the owner, giving up at once when a lock is in the way. */
async function secure(): Promise<string[]> {
  await using owner = await connectSql(scratch.url("owner"), "test");
  return await secureTables(owner, { rolePrefix: scratch.rolePrefix, lockTries: 1 });
}

describe("a new table", () => {
  it("is unreachable for the application before it is secured, and holds one tenant's rows after", async () => {
    await scratch.as("owner", ORDERS);
    const app = await scratch.connect("app");
    expect((await caught(app.query("select from orders"))).code).toBe("ERR_PERMISSION_DENIED");
    expect((await caught(app.query("insert into orders (note) values ('x')"))).code).toBe("ERR_PERMISSION_DENIED");

    expect(await secure()).toEqual(["public.orders"]);
    await asTenant(app, "insert into orders (note) values ('mine')");
    await scratch.as("owner", "insert into orders (tenant_id, note) values (gen_random_uuid(), 'theirs')");
    expect((await asTenant(app, "select note from orders")).rows).toEqual([{ note: "mine" }]);
    expect((await app.query("select note from orders")).rows).toEqual([]);
    // Control: the owner sees both.
    expect(await scratch.as("owner", "select note from orders order by note")).toEqual([
      { note: "mine" },
      { note: "theirs" },
    ]);
  });

  it("is not the application's to truncate, refer to or put triggers on, nor its sequence to set", async () => {
    await scratch.as("owner", ORDERS);
    await secure();
    const [row] = await scratch.as(
      "app",
      `select has_table_privilege('orders', 'truncate, references, trigger') as "table",
         has_sequence_privilege('orders_id_seq', 'usage') as uses,
         has_sequence_privilege('orders_id_seq', 'select, update') as sets,
         has_sequence_privilege('orders_number_seq', 'usage, select, update') as identity`,
    );
    expect(row).toEqual({ table: false, uses: true, sets: false, identity: false });
  });

  it("gets the use of a sequence that only its default names", async () => {
    await scratch.as("owner", "create sequence numbers; create sequence unused");
    await scratch.as(
      "owner",
      "create table tickets (tenant_id uuid not null default rowhouse.current_tenant(), n bigint default nextval('numbers'))",
    );
    await secure();
    const app = await scratch.connect("app");
    await asTenant(app, "insert into tickets default values");
    expect((await caught(app.query("select nextval('unused')"))).code).toBe("ERR_PERMISSION_DENIED");
  });

  it.each(['we"ird; drop', "$& $1 $$", "two\nlines", "rowhouse_app", "UPPER"])("may be called %j", async (name) => {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    await using owner = await connectSql(scratch.url("owner"), "test");
    await owner.query(`create table ${quoted} (tenant_id uuid not null default rowhouse.current_tenant(), a int)`);
    expect(await secure()).toHaveLength(1);
    const app = await scratch.connect("app");
    await asTenant(app, `insert into ${quoted} (a) values (1)`);
    expect((await app.query(`select a from ${quoted}`)).rows).toEqual([]);
  });

  it("is left without grants when it is neither a tenant's nor global", async () => {
    await scratch.as("owner", "create table settings (a int)");
    expect(await secure()).toEqual([]);
    expect((await caught(scratch.as("app", "select from settings"))).code).toBe("ERR_PERMISSION_DENIED");
  });
});

describe("a partitioned table", () => {
  it("is reached through the parent, and never through a partition", async () => {
    await scratch.as(
      "owner",
      `create table visits (tenant_id uuid not null default rowhouse.current_tenant(), day int) partition by range (day);
       create table visits_1 partition of visits for values from (1) to (10);
       grant select on visits_1 to rowhouse_app`,
    );
    expect(await secure()).toEqual(["public.visits", "public.visits_1"]);
    const app = await scratch.connect("app");
    await asTenant(app, "insert into visits (day) values (1)");
    await scratch.as("owner", "insert into visits values (gen_random_uuid(), 2)");
    expect((await asTenant(app, "select day from visits")).rows).toEqual([{ day: 1 }]);
    expect((await caught(app.query("select from visits_1"))).code).toBe("ERR_PERMISSION_DENIED");
    expect(await secure()).toEqual([]);
  });
});

describe("a global table", () => {
  it("can be read and not written", async () => {
    await scratch.as("owner", "create table global.plans (id text)");
    await scratch.as("owner", "grant insert on global.plans to rowhouse_app");
    await secure();
    const app = await scratch.connect("app");
    expect((await app.query("select from global.plans")).rows).toEqual([]);
    expect((await caught(app.query("insert into global.plans values ('free')"))).code).toBe("ERR_PERMISSION_DENIED");
  });
});

describe("securing again", () => {
  it("does nothing, and locks nothing, when nothing is to do", async () => {
    await scratch.as("owner", ORDERS);
    await scratch.as("owner", "create table global.plans (id text)");
    await secure();
    const writer = await scratch.connect("owner");
    await writer.query("begin");
    await writer.query("insert into orders (tenant_id) values (gen_random_uuid())");
    await writer.query("lock table global.plans in row exclusive mode");
    expect(await secure()).toEqual([]);
    // Control: as soon as something is to do, the writer is in the way.
    await scratch.as("owner", "revoke delete on orders from rowhouse_app");
    expect((await caught(secure())).code).toBe("ERR_LOCK_TIMEOUT");
    await writer.query("rollback");
    expect(await secure()).toEqual(["public.orders"]);
  });

  it.each([
    "alter table orders disable row level security",
    "alter table orders no force row level security",
    "drop policy tenant_isolation on orders",
    "drop policy tenant_access on orders",
    "drop policy owner_access on orders",
    "alter policy tenant_isolation on orders using (tenant_id = (select rowhouse.current_tenant()) or true)",
    "alter policy tenant_isolation on orders with check (true)",
    "alter policy tenant_isolation on orders to rowhouse_worker",
    "drop policy tenant_isolation on orders; create policy tenant_isolation on orders to rowhouse_app using (tenant_id = (select rowhouse.current_tenant())) with check (tenant_id = (select rowhouse.current_tenant()))",
    "drop policy tenant_isolation on orders; create policy tenant_isolation on orders as restrictive for select to rowhouse_app using (tenant_id = (select rowhouse.current_tenant()))",
    "grant truncate on orders to rowhouse_app",
    "grant select on orders to rowhouse_app with grant option",
    "grant select (note) on orders to rowhouse_worker",
    "grant select on orders to rowhouse_worker",
    "grant select on orders to public",
    "revoke update on orders from rowhouse_app",
  ])("repairs: %s", async (fault) => {
    await scratch.as("owner", ORDERS);
    await secure();
    await scratch.as("owner", fault);
    expect(await secure()).toEqual(["public.orders"]);
    expect(await secure()).toEqual([]);
  });

  it.each([
    [
      "a sequence",
      "grant update on sequence orders_id_seq to rowhouse_app",
      "has_sequence_privilege('orders_id_seq', 'update')",
    ],
    [
      "a sequence for all",
      "grant usage on sequence orders_id_seq to public",
      "has_sequence_privilege(rowhouse_worker, 'orders_id_seq', 'usage')",
    ],
    ["a global table", "grant delete on global.plans to rowhouse_app", "has_table_privilege('global.plans', 'delete')"],
  ])("repairs the grants of %s", async (_, fault, question) => {
    await scratch.as("owner", ORDERS);
    await scratch.as("owner", "create table global.plans (id text)");
    await secure();
    const ask = async () =>
      (await scratch.as("app", `select ${question.replace("rowhouse_worker", "'rowhouse_worker'")} as may`))[0]!["may"];
    await scratch.as("owner", fault);
    expect(await ask()).toBe(true);
    await secure();
    expect(await ask()).toBe(false);
  });

  it("keeps a policy of the application's own beside the template's", async () => {
    await scratch.as("owner", ORDERS);
    await secure();
    await scratch.as(
      "owner",
      "create policy visible on orders as restrictive for select to rowhouse_app using (note is not null)",
    );
    expect(await secure()).toEqual([]);
    expect(
      await scratch.as("owner", "select count(*)::int as n from pg_policy where polrelid = 'orders'::regclass"),
    ).toEqual([{ n: 4 }]);
  });
});

describe("what cannot be secured is refused", () => {
  it("a global table with a tenant_id", async () => {
    await scratch.as("owner", "create table global.orders (tenant_id uuid)");
    const error = await caught(secure());
    expect(error).toBeInstanceOf(DefinitionInvalid);
    expect(error.message).toBe(
      "global.orders: a table of schema global is read by every tenant, but this one has a tenant_id column. Declare it with " +
        "tenantTable(), or drop the column.",
    );
    expect((await caught(scratch.as("app", "select from global.orders"))).code).toBe("ERR_PERMISSION_DENIED");
  });

  it("a tenant_id of another type, and a table of another owner", async () => {
    await scratch.as("owner", "create table a (tenant_id text)");
    await scratch.as("superuser", "create table public.b (tenant_id uuid)");
    const error = await caught(secure());
    expect(error).toBeInstanceOf(DefinitionInvalid);
    expect(error.message).toMatch(
      /^A table with a tenant_id column cannot be secured: public\.a: its tenant_id is text and not uuid; public\.b: it belongs to .+ and not to \w+_owner\. /,
    );
  });

  it("a table that something changes back", async () => {
    await scratch.as("owner", ORDERS);
    await scratch.as(
      "superuser",
      `create function public.undo() returns event_trigger language plpgsql as
       'begin alter table public.orders no force row level security; end';
       create event trigger undo on ddl_command_end when tag in ('CREATE POLICY') execute function public.undo()`,
    );
    const error = await caught(secure());
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toMatch(
      /^After securing them, tables are still not as they must be: public\.orders: row-level security is not forced\. /,
    );
  });
});
