import { execFile } from "node:child_process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connectSql } from "../../src/database/sql-connection.ts";
import { formatZeroCount } from "../../src/doctor/zero-count-report.ts";
import { zeroCount, type ZeroCountReport } from "../../src/doctor/zero-count.ts";
import { ConfigInvalid } from "../../src/errors.ts";
import { createShop, type Shop, type ShopDatabase } from "./shop.ts";

let shop: Shop;
let database: ShopDatabase;

beforeAll(async () => {
  shop = await createShop();
});

afterAll(async () => {
  await shop[Symbol.asyncDispose]();
});

beforeEach(async () => {
  database = await shop.clone();
});

afterEach(async () => {
  await database[Symbol.asyncDispose]();
});

const asOwner = (text: string) => database.owner.query(database.sql(text));
const count = () => zeroCount({ app: database.app, owner: database.owner, rolePrefix: database.rolePrefix });
const tableOf = (report: ZeroCountReport, name: string) => report.tables.find((table) => table.table === name);

const SHOP = ["public.customers", "public.orders", "public.visits", "rowhouse.api_keys", "rowhouse.tenants"];

describe("zero-count", () => {
  it("proves every table that holds rows, and names those out of reach", async () => {
    const report = await count();
    expect(report).toMatchObject({ database: database.name, role: `${database.rolePrefix}_app` });
    for (const table of SHOP) {
      expect(tableOf(report, table)).toEqual({
        table,
        verdict: "proven",
        reason: "the owner sees 2 rows, the application none",
        ownerRows: 2,
        appRows: 0,
      });
    }
    for (const table of ["rowhouse.domains", "public.visits_rest"]) {
      expect(tableOf(report, table)).toMatchObject({
        verdict: "unreachable",
        reason: "the application may not select from it",
        ownerRows: 2,
        appRows: null,
      });
    }
    expect(report.tables.filter((table) => table.verdict === "failed")).toEqual([]);
  });

  it("lists the tables of the catalog that have a tenant, and no others", async () => {
    await asOwner("create table public.notes (tenant_id uuid not null, id uuid not null)");
    const names = (await count()).tables.map((table) => table.table);
    expect(names).toEqual(expect.arrayContaining([...SHOP, "public.notes", "public.visits_rest", "rowhouse.domains"]));
    expect(names).not.toEqual(expect.arrayContaining(["global.plans"]));
    expect(names).not.toEqual(expect.arrayContaining(["rowhouse.migrations"]));
    expect(names).toEqual([...names].sort());
  });

  it("says of an empty table that it proves nothing", async () => {
    await asOwner("delete from public.orders");
    const report = await count();
    expect(tableOf(report, "public.orders")).toMatchObject({
      verdict: "unproven",
      reason: "the table is empty, which proves nothing",
    });
    expect(report.verdict).toBe("unproven");
    expect(formatZeroCount(report)).toMatch(/^UNPROVEN: .*; not .*public\.orders/m);
  });

  it("fails when the application sees rows", async () => {
    await asOwner("drop policy tenant_isolation on public.orders");
    const report = await count();
    expect(tableOf(report, "public.orders")).toMatchObject({ verdict: "failed", appRows: 2 });
    expect(report.verdict).toBe("failed");
    expect(tableOf(report, "public.customers")).toMatchObject({ verdict: "proven" });
    expect(formatZeroCount(report)).toContain("FAILED: the wall does not hold on public.orders.");
  });

  it("fails when rows can be put in, though none are seen", async () => {
    await asOwner(
      `alter table public.orders alter column customer_id drop not null;
       alter policy tenant_isolation on public.orders with check (true)`,
    );
    expect(tableOf(await count(), "public.orders")).toMatchObject({
      verdict: "failed",
      reason: "a row was inserted without a tenant",
      appRows: 0,
    });
  });

  it("takes an insert that something else refuses for no proof", async () => {
    await asOwner("alter policy tenant_isolation on public.orders with check (true)");
    const { verdict, reason } = tableOf(await count(), "public.orders")!;
    expect(verdict).toBe("unproven");
    expect(reason).toMatch(/^an insert was refused, but not by the wall: null value in column "customer_id"/);
  });

  it("fails when the policy trips over what an earlier transaction leaves behind", async () => {
    await asOwner(
      "alter policy tenant_isolation on public.orders using (tenant_id = pg_catalog.current_setting('app.tenant_id', true)::uuid)",
    );
    expect(tableOf(await count(), "public.orders")).toMatchObject({
      verdict: "failed",
      reason: 'the query ended in an error: invalid input syntax for type uuid: ""',
    });
  });

  it("proves nothing of a table that the owner cannot read", async () => {
    await database.admin.query("alter table public.orders owner to current_user");
    const { verdict, reason } = tableOf(await count(), "public.orders")!;
    expect(verdict).toBe("unproven");
    expect(reason).toBe("the owner cannot count its rows: permission denied for table orders");
  });

  it("stops counting at a thousand", async () => {
    await asOwner(
      "insert into public.visits (tenant_id) select c.tenant_id from public.customers c, pg_catalog.generate_series(1, 600)",
    );
    expect(tableOf(await count(), "public.visits")).toMatchObject({
      ownerRows: 1000,
      reason: "the owner sees 1000 rows or more, the application none",
    });
  });

  it("leaves everything as it was", async () => {
    const before = await count();
    expect(await count()).toEqual(before);
    const { rows } = await database.app.query("select pg_catalog.current_setting('app.tenant_id', true) as tenant");
    expect(rows).toEqual([{ tenant: "" }]);
  });

  it("refuses to count as anybody else than the application's role", async () => {
    const asAdmin = zeroCount({ app: database.owner, owner: database.owner, rolePrefix: database.rolePrefix });
    await expect(asAdmin).rejects.toThrow(ConfigInvalid);
    await expect(asAdmin).rejects.toThrow(
      `Zero-count must connect as "${database.rolePrefix}_app", the role that serves requests, but is "${database.rolePrefix}_owner".`,
    );
  });

  it("refuses to compare two databases", async () => {
    await using other = await shop.clone();
    await using app = await connectSql(other.appUrl, "test");
    const mixed = zeroCount({ app, owner: database.owner, rolePrefix: database.rolePrefix });
    await expect(mixed).rejects.toThrow(ConfigInvalid);
    await expect(mixed).rejects.toThrow(`"${other.name}" and the owner to "${database.name}"`);
  });
});

describe("scripts/zero-count.ts", () => {
  /** @returns the exit code and what was printed */
  const run = (...options: string[]): Promise<{ code: number; printed: string }> =>
    new Promise((resolve) => {
      const program = ["--import", "tsx", "--conditions=rowhouse-source", "scripts/zero-count.ts", ...options];
      const { appUrl, ownerUrl, rolePrefix } = database;
      const urls = { DATABASE_URL: appUrl, OWNER_DATABASE_URL: ownerUrl, ROWHOUSE_ROLE_PREFIX: rolePrefix };
      const env = { PATH: process.env["PATH"], ...urls };
      execFile(process.execPath, program, { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), printed: stdout + stderr }),
      );
    });

  it("prints the report, and exits with 1 unless it is passed", async () => {
    // Tables of the framework that the shop has no rows in are unproven, and then so is the whole.
    const { verdict } = await count();
    const sound = await run("--json");
    expect(JSON.parse(sound.printed)).toMatchObject({ verdict, database: database.name });
    expect(sound.code).toBe(verdict === "passed" ? 0 : 1);
    await asOwner("alter table public.orders disable row level security");
    const broken = await run();
    expect(broken.printed).toContain("FAILED: the wall does not hold on public.orders.");
    expect(broken.code).toBe(1);
  });
});

describe("the report", () => {
  it("has a line for each table, the worst first, and the verdict", () => {
    const table = (name: string, verdict: "proven" | "unproven" | "unreachable" | "failed", reason: string) => ({
      table: name,
      verdict,
      reason,
      ownerRows: 1,
      appRows: 0,
    });
    const report = {
      verdict: "passed" as const,
      database: "app",
      role: "rowhouse_app",
      tables: [
        table("public.orders", "proven", "the owner sees 1 row, the application none"),
        table("rowhouse.domains", "unreachable", "the application may not select from it"),
      ],
    };
    expect(formatZeroCount(report)).toBe(`Zero-count of database "app" as "rowhouse_app", without a tenant

  unreachable  rowhouse.domains  the application may not select from it
  proven       public.orders     the owner sees 1 row, the application none

PASSED: 1 of 2 tables are proven, the others are out of the application's reach.
`);
    expect(formatZeroCount({ ...report, verdict: "unproven", tables: [] })).toContain(
      "UNPROVEN: there is no tenant table.",
    );
  });
});
