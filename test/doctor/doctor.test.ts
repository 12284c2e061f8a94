import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runDoctor, type Finding } from "../../src/doctor/doctor.ts";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { ConnectionLost } from "../../src/errors.ts";
import { createTestDatabase } from "../helpers/database.ts";
import { createShop, type Shop, type ShopDatabase } from "./shop.ts";

let shop: Shop;
let database: ShopDatabase;

beforeAll(async () => {
  shop = await createShop();
  database = await shop.clone();
});

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
});

const examine = (options: { suppress?: string[]; tenantSchemas?: string[] } = {}, connection = database.owner) =>
  runDoctor(connection, { rolePrefix: database.rolePrefix, ...options });

// What the doctor says of the server it runs on is no matter of the schema.
const ofSchema = (findings: Finding[]) => findings.filter((finding) => finding.rule !== "0032_server_version");

/** Runs `work` after `change` was made by the owner, and undoes the change. */
async function changed<Result>(change: string, work: () => Promise<Result>): Promise<Result> {
  await database.owner.query("begin");
  try {
    await database.owner.query(database.sql(change));
    return await work();
  } finally {
    await database.owner.query("rollback");
  }
}

describe("the doctor", () => {
  it("has nothing to say of a sound schema", async () => {
    expect(ofSchema(await examine())).toEqual([]);
  });

  it("has nothing to say of a database that no superuser had a hand in", async () => {
    await using other = await createTestDatabase();
    await using owner = await connectSql(other.ownerUrl, "test doctor");
    expect(ofSchema(await runDoctor(owner, { rolePrefix: other.rolePrefix }))).toEqual([]);
  });

  it("names the rule, the level, the object, what is wrong, what to do, and a key", async () => {
    const findings = await changed("alter table public.orders no force row level security", () => examine());
    expect(ofSchema(findings)).toEqual([
      {
        rule: "0005_rls_not_forced",
        level: "error",
        schema: "public",
        object: "orders",
        detail: "Row-level security is not forced on the tenant table public.orders.",
        remediation: "Run `rowhouse migrate`, which secures every tenant table again.",
        key: "0005_rls_not_forced:public.orders",
      },
    ]);
  });

  it("sorts the worst first, then by rule and object", async () => {
    await database.admin.query("begin");
    try {
      await database.admin.query(
        database.sql(
          `create function public.f() returns integer language sql leakproof return 1;
           alter function public.f() owner to rowhouse_owner;
           alter table public.orders disable row level security;
           alter table public.customers disable row level security;
           alter table public.customers drop constraint customers_email_key, add unique (email)`,
        ),
      );
      expect(ofSchema(await examine({}, database.admin)).map((finding) => finding.key)).toEqual([
        "0004_rls_disabled:public.customers",
        "0004_rls_disabled:public.orders",
        "0021_unique_without_tenant:public.customers.customers_email_key",
        "0030_leakproof_function:public.f()",
      ]);
    } finally {
      await database.admin.query("rollback");
    }
  });

  it("leaves out what is suppressed by its key, and nothing else", async () => {
    const change =
      "alter table public.orders no force row level security; alter table public.customers no force row level security";
    const findings = await changed(change, () => examine({ suppress: ["0005_rls_not_forced:public.orders"] }));
    expect(ofSchema(findings).map((finding) => finding.key)).toEqual(["0005_rls_not_forced:public.customers"]);
  });

  it("looks at the tenant schemas it is given", async () => {
    const change = "create schema shop; create table shop.notes (tenant_id uuid not null, id uuid not null)";
    const elsewhere = await changed(change, () => examine());
    expect(ofSchema(elsewhere).map((finding) => finding.rule)).toEqual(["0001_unclassified_table"]);
    const inside = await changed(change, () => examine({ tenantSchemas: ["public", "shop"] }));
    expect(ofSchema(inside).map((finding) => finding.rule)).toContain("0004_rls_disabled");
    expect(ofSchema(inside).map((finding) => finding.rule)).not.toContain("0001_unclassified_table");
  });

  it("does not depend on the search_path, and puts it back", async () => {
    await database.owner.query("set search_path = rowhouse, public, pg_temp");
    expect(ofSchema(await examine())).toEqual([]);
    const { rows } = await database.owner.query<{ search_path: string }>("show search_path");
    expect(rows).toEqual([{ search_path: "rowhouse, public, pg_temp" }]);
    await database.owner.query("reset search_path");
  });

  it("reports a rule that cannot be run, even when that is suppressed, and runs the others", async () => {
    const failing: SqlConnection = {
      ...database.owner,
      query: (text, values) =>
        database.owner.query(
          text.replace("pg_rewrite w on w.ev_class = r.oid", "no_such_catalog w on w.ev_class = r.oid"),
          values,
        ),
    };
    const findings = await examine({ suppress: ["0026_rewrite_rule:failed"] }, failing);
    expect(ofSchema(findings)).toEqual([
      {
        rule: "0026_rewrite_rule",
        level: "error",
        schema: null,
        object: null,
        detail:
          'The rule could not be run, so nothing is known of what it looks for: relation "pg_catalog.no_such_catalog" does not exist',
        remediation: "Run the doctor as the owner role, on a database that `rowhouse migrate` has brought up to date.",
        key: "0026_rewrite_rule:failed",
      },
    ]);
  });

  it("does not take a lost connection for findings", async () => {
    const closed = await connectSql(database.ownerUrl, "test doctor");
    await closed.end();
    await expect(examine({}, closed)).rejects.toThrow(ConnectionLost);
  });
});
