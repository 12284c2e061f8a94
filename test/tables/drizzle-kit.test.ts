import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantDb } from "../../src/database/types.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { conflictTarget } from "../../src/tables/conflict-target.ts";
import { describeTable } from "../../src/tables/describe-table.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { categories, customers, orderLines, orders, plans } from "./fixtures/shop.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const ONE = "00000000-0000-7000-8000-000000000001";
const TWO = "00000000-0000-7000-8000-000000000002";

/** Runs drizzle-kit as its users do. @returns what it printed */
async function generate(schema: string, out: string): Promise<string> {
  const kit = path.join(ROOT, "node_modules/drizzle-kit/bin.cjs");
  const args = [kit, "generate", "--dialect", "postgresql", "--schema", schema, "--out", path.relative(ROOT, out)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: ROOT }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

const SHOP = "test/tables/fixtures/shop.ts";

let folder: string;
let migrations: string;
let ddl: string;
let server: TestDatabase;
let database: Database;
let a: string;
let b: string;

beforeAll(async () => {
  await mkdir(path.join(ROOT, ".rowhouse"), { recursive: true });
  folder = await mkdtemp(path.join(ROOT, ".rowhouse/drizzle-kit-"));
  migrations = path.join(folder, "migrations");
  await generate(SHOP, migrations);
  const [file] = (await readdir(migrations)).filter((name) => name.endsWith(".sql"));
  ddl = await readFile(path.join(migrations, file!), "utf8");

  server = await createTestDatabase();
  const { ownerUrl, rolePrefix } = server;
  await migrate({ ownerUrl, rolePrefix, folders: [{ source: "shop", path: migrations }] });
  database = createDatabase({
    url: server.appUrl,
    poolSize: 2,
    tenantLimit: 2,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
  a = (await server.createTenant({ slug: "a" })).id;
  b = (await server.createTenant({ slug: "b" })).id;
});

afterAll(async () => {
  await database?.close();
  await server?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the work in one transaction of the tenant, as the application would. */
async function within<Result>(tenant: string, work: (db: TenantDb) => Promise<Result>): Promise<Result> {
  const transaction = database.open({ id: tenant, placement: "shared", epoch: 1 });
  try {
    const result = await work(transaction.db);
    await transaction.commit();
    return result;
  } finally {
    await transaction.rollback();
  }
}

const owner = async (text: string, values: unknown[] = []) => (await server.asOwner(text, values)).rows;

/** The owner is bound by no tenant, so what it cannot do is kept by the keys alone. */
const customer = (tenant: string, id: string, email: string) =>
  owner(
    "insert into customers (tenant_id, id, email, first_name, last_name, tax_number) values ($1, $2, $3, 'Ann', $3, $3)",
    [tenant, id, email],
  );
const order = (tenant: string, id: string, customerId: string, referredById: string | null = null) =>
  owner("insert into orders (tenant_id, id, customer_id, referred_by_id, total_cents) values ($1, $2, $3, $4, 100)", [
    tenant,
    id,
    customerId,
    referredById,
  ]);
const empty = () => owner("truncate customers, orders, order_lines, categories");

describe("drizzle-kit generate", () => {
  it("writes tenant-leading keys and indexes", () => {
    expect(ddl).toContain('"tenant_id" uuid DEFAULT rowhouse.current_tenant() NOT NULL');
    expect(ddl).toContain('"id" uuid DEFAULT rowhouse.uuid_v7() NOT NULL');
    expect(ddl).toContain('PRIMARY KEY("tenant_id","id")');
    expect(ddl).toContain('CONSTRAINT "customers_email_unique" UNIQUE("tenant_id","email")');
    expect(ddl).toContain('CONSTRAINT "customers_tax" UNIQUE NULLS NOT DISTINCT("tenant_id","tax_number")');
    expect(ddl).toContain(
      'CREATE UNIQUE INDEX "customers_email_lower" ON "customers" USING btree ("tenant_id",lower("email"))',
    );
    expect(ddl).toContain(
      'CREATE INDEX "orders_customer_id_index" ON "orders" USING btree ("tenant_id","customer_id")',
    );
  });

  it("writes composite foreign keys, and set null for the one column", () => {
    expect(ddl).toContain(
      'FOREIGN KEY ("tenant_id","customer_id") REFERENCES "public"."customers"("tenant_id","id") ON DELETE cascade',
    );
    expect(ddl).toContain(
      'FOREIGN KEY ("tenant_id","referred_by_id") REFERENCES "public"."customers"("tenant_id","id") ' +
        'ON DELETE set null ("referred_by_id") ON UPDATE no action',
    );
    expect(ddl).toContain('FOREIGN KEY ("plan_code") REFERENCES "global"."plans"("code") ON DELETE set null ON UPDATE');
  });

  it("puts global tables in their schema, which the framework makes", () => {
    expect(ddl).toContain('CREATE TABLE "global"."plans"');
    expect(ddl).not.toContain("CREATE SCHEMA");
  });

  it("finds nothing to change the second time", async () => {
    expect(await generate(SHOP, migrations)).toContain("No schema changes, nothing to migrate");
  });

  it("stops at a mistake and says what to write", async () => {
    const schema = path.join(folder, "wrong.ts");
    const from = JSON.stringify(path.join(ROOT, "src/tables/tenant-table.ts"));
    await writeFile(
      schema,
      `import { uuid } from "drizzle-orm/pg-core";
       import { tenantTable } from ${from};
       export const orders = tenantTable("orders", {});
       export const refunds = tenantTable("refunds", { orderId: uuid().references(() => orders.id) });`,
    );
    const printed = await generate(schema, path.join(folder, "wrong"));
    expect(printed).toContain("Write orderId: belongsTo(() => …) with that table instead.");
    expect(await readdir(path.join(folder, "wrong")).catch(() => [])).not.toContainEqual(
      expect.stringMatching(/\.sql$/),
    );
  });
});

describe("the migrated database", () => {
  it("leads every b-tree of a tenant table with tenant_id", async () => {
    const rows = await owner(
      `select i.indexrelid::regclass::text as index, a.attname as first, m.amname as method
         from pg_index i
         join pg_class c on c.oid = i.indexrelid
         join pg_am m on m.oid = c.relam
         join pg_attribute a on a.attrelid = i.indexrelid and a.attnum = 1
        where i.indrelid = any ('{customers,orders,order_lines,categories}'::regclass[])`,
    );
    expect(rows.length).toBeGreaterThan(12);
    expect(rows.filter((row) => row["first"] !== "tenant_id")).toEqual([
      { index: "customers_words", first: "to_tsvector", method: "gin" },
    ]);
  });

  it("has the columns that describeTable() says", async () => {
    for (const table of [customers, orders, orderLines, categories, plans]) {
      const { schema, name, columns } = describeTable(table);
      const rows = await owner(
        `select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as "notNull"
           from pg_attribute where attrelid = $1::regclass and attnum > 0 order by attnum`,
        [`${schema}.${name}`],
      );
      expect(rows).toEqual(columns);
    }
  });

  it("cannot hold a reference into another tenant", async () => {
    await empty();
    await customer(a, ONE, "one@example.com");
    await customer(b, TWO, "two@example.com");
    await order(a, ONE, ONE);
    await expect(order(a, TWO, TWO)).rejects.toMatchObject({
      code: "ERR_FOREIGN_KEY_VIOLATION",
      constraint: "orders_customer_id_customers_id_fk",
      message: "A row it refers to does not exist, or is still referred to.",
    });
    await expect(order(a, TWO, ONE, TWO)).rejects.toMatchObject({
      constraint: "orders_referred_by_id_customers_id_fk",
    });
  });

  it("keeps values unique within a tenant and not across", async () => {
    await empty();
    await customer(a, ONE, "same@example.com");
    await customer(b, ONE, "same@example.com");
    await expect(customer(a, TWO, "same@example.com")).rejects.toMatchObject({
      code: "ERR_UNIQUE_VIOLATION",
      constraint: "customers_email_unique",
      message: "A row with the same unique values exists already.",
    });
    await expect(customer(a, TWO, "SAME@example.com")).rejects.toMatchObject({ constraint: "customers_email_lower" });
  });

  it("cascades within the tenant, even where another has the same ids", async () => {
    await empty();
    for (const tenant of [a, b]) {
      await customer(tenant, ONE, "one@example.com");
      await order(tenant, ONE, ONE);
    }
    await owner("delete from customers where tenant_id = $1", [a]);
    expect(await owner("select tenant_id, id from orders")).toEqual([{ tenant_id: b, id: ONE }]);
  });

  it("sets null on the referring column only, within the tenant", async () => {
    await empty();
    for (const tenant of [a, b]) {
      await customer(tenant, ONE, "one@example.com");
      await customer(tenant, TWO, "two@example.com");
      await order(tenant, ONE, ONE, TWO);
    }
    await owner("delete from customers where tenant_id = $1 and id = $2", [a, TWO]);
    const rows = await owner("select tenant_id, customer_id, referred_by_id from orders");
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({ tenant_id: a, customer_id: ONE, referred_by_id: null });
    expect(rows).toContainEqual({ tenant_id: b, customer_id: ONE, referred_by_id: TWO });
  });

  it("restricts a delete while rows refer to it", async () => {
    await empty();
    await customer(a, ONE, "one@example.com");
    await order(a, ONE, ONE);
    await owner("insert into order_lines (tenant_id, order_id, position) values ($1, $2, 1)", [a, ONE]);
    await expect(owner("delete from orders")).rejects.toMatchObject({
      code: "ERR_FOREIGN_KEY_VIOLATION",
      constraint: "order_lines_order_id_orders_id_fk",
    });
    await owner("delete from order_lines");
    await owner("delete from orders");
    expect(await owner("select id from orders")).toEqual([]);
  });
});

describe("the application", () => {
  const row = (email: string) => ({ email, firstName: email, lastName: email, taxNumber: email });

  it("gets tenant and id from the database", async () => {
    await empty();
    const [inserted] = await within(a, (db) => db.insert(customers).values(row("x@example.com")).returning());
    expect(inserted?.tenantId).toBe(a);
    expect(inserted?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it("cannot write a row for another tenant", async () => {
    await empty();
    await within(a, (db) => db.insert(customers).values({ ...row("x@example.com"), tenantId: a }));
    const foreign = within(a, (db) => db.insert(customers).values({ ...row("y@example.com"), tenantId: b }));
    await expect(foreign).rejects.toMatchObject({
      code: "ERR_PERMISSION_DENIED",
      message: expect.stringContaining("The application's role may not do this."),
      cause: { message: 'new row violates row-level security policy "tenant_isolation" for table "customers"' },
    });
    expect(await owner("select tenant_id, email from customers")).toEqual([{ tenant_id: a, email: "x@example.com" }]);
  });

  it("updates its own row in an upsert, and not the like one of another tenant", async () => {
    await empty();
    await customer(a, ONE, "same@example.com");
    await customer(b, ONE, "same@example.com");
    await within(a, (db) =>
      db
        .insert(customers)
        .values(row("same@example.com"))
        .onConflictDoUpdate({ target: conflictTarget(customers.email), set: { lastName: "Changed" } }),
    );
    const rows = await owner("select tenant_id, last_name from customers order by tenant_id = $1 desc", [a]);
    expect(rows).toEqual([
      { tenant_id: a, last_name: "Changed" },
      { tenant_id: b, last_name: "same@example.com" },
    ]);
  });

  it("stamps a row that it updates", async () => {
    await empty();
    await customer(a, ONE, "one@example.com");
    await owner("update customers set created_at = 'epoch', updated_at = 'epoch'");
    await within(a, (db) => db.update(customers).set({ lastName: "Changed" }).where(eq(customers.id, ONE)));
    expect(await owner("select created_at = 'epoch' as kept, updated_at = 'epoch' as stale from customers")).toEqual([
      { kept: true, stale: false },
    ]);
  });
});
