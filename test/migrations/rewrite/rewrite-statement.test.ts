import { parse } from "pgsql-parser";
import { describe, expect, it } from "vitest";
import { rewriteStatement } from "../../../src/migrations/rewrite/rewrite-statement.ts";
import { meaningOf } from "../../../src/migrations/rewrite/tree.ts";

const NAMES = { schema: "t_1", role: "rowhouse_t_1", appRole: "rowhouse_app" };
const rewrite = async (text: string) => await rewriteStatement("app/0001_x.sql", { text, line: 7 }, NAMES);

const NOTHING: Record<string, string> = {
  "a table of schema global": "create table global.plans (id uuid primary key)",
  "a change of one": 'alter table "global"."plans" add column x int',
  "rows of one": "insert into global.plans values ('x')",
  "a change of the framework's own": "comment on table rowhouse.tenants is 'x'",
  "an extension": "create extension if not exists pg_trgm with schema extensions",
  "its comment": "comment on extension pg_trgm is 'x'",
  "a schema that is there": "create schema if not exists public",
  "default privileges": "alter default privileges in schema public grant select on tables to x",
  "a role": "create role reporting",
  "row-level security": 'ALTER TABLE "orders" ENABLE ROW LEVEL SECURITY',
  "forced row-level security": "alter table public.orders force row level security",
  "the template's policies":
    "create policy tenant_isolation on public.orders as restrictive to rowhouse_app using (true)",
  "dropping one of them": "drop policy if exists owner_access on public.orders",
};

const REWRITTEN: Record<string, [string, string]> = {
  "columns called public": [
    "create table public.t (public int, tenant_id uuid, constraint u unique (public, tenant_id))",
    "CREATE TABLE t_1.t ( public int, tenant_id uuid, CONSTRAINT u UNIQUE (public, tenant_id) )",
  ],
  "a value called public": [
    "insert into orders (a) values ('public.orders')",
    "INSERT INTO orders (a) VALUES ('public.orders')",
  ],
  "an alias called public": ["select public.a from x as public", "SELECT public.a FROM x AS public"],
  "columns with table and schema": [
    "update public.orders set a = 1 where public.orders.b = 2",
    "UPDATE t_1.orders SET a = 1 WHERE t_1.orders.b = 2",
  ],
  "row-level security among other changes": [
    "alter table orders enable row level security, add column a int",
    "ALTER TABLE orders ADD COLUMN a int",
  ],
  grants: ["grant select on public.v to rowhouse_app, reporting", "GRANT SELECT ON t_1.v TO rowhouse_t_1, reporting"],
  "grants on the schema": ["grant usage on schema public to rowhouse_app", "GRANT usage ON SCHEMA t_1 TO rowhouse_t_1"],
  "names in texts": [
    "select nextval('public.numbers'), setval('\"public\".\"n\"', 5), 'public.orders'::regclass, 'public.x'::text",
    "SELECT nextval('t_1.numbers'), setval('t_1.\"n\"', 5), 't_1.orders'::regclass, 'public.x'::text",
  ],
  "comments on columns": ["comment on column public.orders.id is 'x'", "COMMENT ON COLUMN t_1.orders.id IS 'x'"],
  "comments on columns without a schema": ["comment on column public.id is 'x'", "COMMENT ON COLUMN public.id IS 'x'"],
  "sequences of columns": [
    "create sequence public.s owned by public.orders.id",
    "CREATE SEQUENCE t_1.s OWNED BY t_1.orders.id",
  ],
  "functions and triggers": [
    "create trigger t before insert on public.orders for each row execute function public.f()",
    "CREATE TRIGGER t BEFORE INSERT ON t_1.orders FOR EACH ROW EXECUTE FUNCTION t_1.f()",
  ],
  "bodies that are parsed": [
    "create function public.n() returns bigint language sql begin atomic select count(*) from public.orders; end",
    "CREATE FUNCTION t_1.n() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM t_1.orders; END",
  ],
  "bodies that name no schema": [
    "create function f() returns trigger language plpgsql as $$ begin insert into orders default values; return new; end $$",
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ begin insert into orders default values; return new; end $$",
  ],
  "an index on tenant_id alone": ["create index i on orders (tenant_id)", "CREATE INDEX i ON orders (tenant_id)"],
  "an index with everything": [
    "create unique index concurrently if not exists i on public.orders using btree (tenant_id, a desc nulls last, lower(b)) include (c) where d",
    "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON t_1.orders (a DESC NULLS LAST, (lower(b)), tenant_id) INCLUDE (c) WHERE d",
  ],
  "tenant_id elsewhere in a key": [
    "create index i on orders (a, tenant_id, b)",
    "CREATE INDEX i ON orders (a, tenant_id, b)",
  ],
  "an exclusion": [
    "alter table o add constraint x exclude using gist (tenant_id with =, during with &&)",
    "ALTER TABLE o ADD CONSTRAINT x EXCLUDE USING gist (during WITH &&, tenant_id WITH =)",
  ],
  "a foreign key into a global table": [
    'alter table "orders" add constraint f foreign key ("plan_id") references "global"."plans"("id")',
    "ALTER TABLE orders ADD CONSTRAINT f FOREIGN KEY (plan_id) REFERENCES global.plans (id)",
  ],
  "a setting of the migration's own": ["set local statement_timeout = '5s'", "SET LOCAL statement_timeout TO '5s'"],
};

const REFUSED: Record<string, [string, RegExp]> = {
  "another search_path": ["set search_path = other", /sets search_path/],
  "another role": ["set role x", /sets role/],
  "another schema": ["create table analytics.t (a int)", /schema "analytics"/],
  "a new schema": ["create schema analytics", /schema "analytics"/],
  "a reference into another schema": ["create view v as select * from analytics.t", /schema "analytics"/],
  "both worlds at once": ["drop table public.a, global.b", /write one statement for each/],
  "a policy that narrows": ["create policy mine on orders using (true)", /policy "mine" would be lost/],
  "a move": ["alter table orders set schema other", /moves an object/],
  "a block that names the schema": ["do $$ begin delete from public.orders; end $$", /the block names schema public/],
  "a body that names the schema": [
    "create function f() returns int language sql as 'select 1 from Public.orders'",
    /body names schema public/,
  ],
  "a function's search_path": [
    "create function f() returns int language sql set search_path = public as 'select 1'",
    /search_path with public/,
  ],
  "a publication": ["create publication p for table orders", /publication/],
  "a foreign table": ["create foreign table f (a int) server s", /foreign table/],
  "what is no SQL": ["create tabel x", /parser does not take it/],
};

describe("in a dedicated schema", () => {
  it.each(Object.entries(NOTHING))("there is nothing to do for %s", async (_of, text) => {
    expect(await rewrite(text)).toBeUndefined();
  });

  it.each(Object.entries(REWRITTEN))("the statement means the schema: %s", async (_of, [text, expected]) => {
    // Compared as trees: how the text is laid out is the deparser's affair.
    const [ours, theirs] = await Promise.all([parse((await rewrite(text)) ?? ""), parse(expected)]);
    expect(meaningOf(ours)).toBe(meaningOf(theirs));
  });

  it.each(Object.entries(REFUSED))("is refused %s, with the line and the reason", async (_of, [text, reason]) => {
    const error: unknown = await rewrite(text).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "ERR_MIGRATION_INVALID", message: expect.stringMatching(reason) });
    expect((error as Error).message).toContain(`Migration app/0001_x.sql, line 7, cannot be applied`);
  });
});
