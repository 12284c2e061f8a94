import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeSchema } from "../../scripts/dump-schema.ts";
import { withRolePrefix } from "../../src/database/role-names.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { makeScratch, type Scratch } from "../migrations/scratch.ts";

const golden = () => readFile(path.resolve(import.meta.dirname, "../../db/schema.sql"), "utf8");

let scratch: Scratch;

beforeAll(async () => {
  scratch = await makeScratch();
  await migrate({ ownerUrl: scratch.url("owner"), rolePrefix: scratch.rolePrefix, folders: [] });
});

afterAll(() => scratch[Symbol.asyncDispose]());

describe("the golden schema", () => {
  it("is what the migrations make, on this version of the server too", async () => {
    expect(await describeSchema(await scratch.connect("superuser"), scratch.rolePrefix)).toBe(await golden());
  });

  it.each([
    [
      "a column's default",
      "alter table rowhouse.tenants alter name set default 'x'",
      "name text default 'x'::text not null,",
    ],
    ["a column's nullability", "alter table rowhouse.tenants alter name drop not null", "  name text,"],
    [
      "a policy's expression",
      "alter policy tenant_isolation on rowhouse.api_keys using (true)",
      "  using (true)\n  with check ((tenant_id",
    ],
    ["forced security", "alter table rowhouse.api_keys no force row level security", undefined],
    [
      "an index",
      "create index i on rowhouse.domains (created_at desc)",
      "CREATE INDEX i ON rowhouse.domains USING btree (created_at DESC);",
    ],
    [
      "a grant",
      "grant truncate on rowhouse.tenants to rowhouse_worker",
      "grant truncate on table rowhouse.tenants to rowhouse_worker;",
    ],
    [
      "a grant on a column",
      "grant update (name) on rowhouse.tenants to rowhouse_app",
      "grant update on table rowhouse.tenants (name) to rowhouse_app;",
    ],
    [
      "a grant to everyone",
      "grant execute on function rowhouse.enter(uuid, integer) to public",
      "grant execute on function rowhouse.enter(uuid, integer) to public;",
    ],
    [
      "default privileges",
      "alter default privileges in schema public grant select on tables to rowhouse_app",
      "grant select on default privileges tables of rowhouse_owner in public to rowhouse_app;",
    ],
    [
      "a function's volatility",
      "alter function rowhouse.current_tenant() immutable",
      " IMMUTABLE PARALLEL SAFE\nRETURN (NULLIF(",
    ],
    [
      "a function's security",
      "alter function rowhouse.enter(uuid, integer) security definer",
      " LANGUAGE plpgsql\n SECURITY DEFINER\n",
    ],
    [
      "a trigger",
      "create trigger t before truncate on rowhouse.tenants execute function suppress_redundant_updates_trigger()",
      "CREATE TRIGGER t BEFORE TRUNCATE ON rowhouse.tenants",
    ],
    [
      "a view",
      "create view rowhouse.v with (security_invoker = true) as select t.id from rowhouse.tenants t",
      "create view rowhouse.v with (security_invoker=true) as\n SELECT ",
    ],
    ["an enum", "create type rowhouse.e as enum ('a', 'b')", "create type rowhouse.e as enum ('a', 'b');"],
    [
      "a domain",
      "create domain rowhouse.d as int check (value > 0)",
      "create domain rowhouse.d as integer\n  constraint d_check CHECK ((VALUE > 0));",
    ],
    [
      "a sequence",
      "create sequence rowhouse.s increment 2",
      "create sequence rowhouse.s as bigint start 1 increment 2;",
    ],
    [
      "a partitioned table",
      "create table public.p (a int) partition by list (a)",
      "create table public.p (\n  a integer\n) partition by LIST (a);",
    ],
    [
      "an object of a kind of its own",
      "create statistics rowhouse.x on slug, name from rowhouse.tenants",
      "rowhouse_owner: statistics object rowhouse.x",
    ],
    ["another owner", "create schema other authorization rowhouse_queue", "rowhouse_queue: schema other"],
  ])("shows %s", async (_, change, expected) => {
    const connection = await scratch.connect("superuser");
    // Rolled back when the connection ends.
    const role = change.startsWith("create schema") ? "" : "set local role rowhouse_owner;";
    await connection.query(withRolePrefix(`begin; ${role} ${change}; reset role`, scratch.rolePrefix));
    const text = await describeSchema(connection, scratch.rolePrefix);
    expect(text).not.toBe(await golden());
    if (expected !== undefined) expect(text).toContain(expected);
  });
});
