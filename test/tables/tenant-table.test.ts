import { getTableColumns, sql } from "drizzle-orm";
import {
  PgDialect,
  foreignKey,
  getTableConfig,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import { describe, expect, it } from "vitest";
import { belongsTo } from "../../src/tables/belongs-to.ts";
import { globalTable } from "../../src/tables/global-table.ts";
import type { AnyTenantTable } from "../../src/tables/table-kind.ts";
import { tenantTable } from "../../src/tables/tenant-table.ts";
import { customers, orderLines, orders } from "./fixtures/shop.ts";
import { refusal } from "./fixtures/refusal.ts";

const names = (columns: readonly object[]) =>
  columns.map((column) => ("name" in column ? column.name : "(expression)"));

describe("columns", () => {
  it("adds tenant_id and id, filled by the database", () => {
    const { tenantId, id } = getTableColumns(orders);
    const dialect = new PgDialect();
    expect([tenantId.name, tenantId.getSQLType(), tenantId.notNull]).toEqual(["tenant_id", "uuid", true]);
    expect(dialect.sqlToQuery(tenantId.default as never).sql).toBe("rowhouse.current_tenant()");
    expect([id.name, id.getSQLType(), id.notNull]).toEqual(["id", "uuid", true]);
    expect(dialect.sqlToQuery(id.default as never).sql).toBe("rowhouse.uuid_v7()");
  });

  it("are named in snake_case unless they have a name, whatever casing the client uses", () => {
    expect(orders.totalCents.name).toBe("total_cents");
    expect(orders.totalCents.keyAsName).toBe(false);
    expect(orderLines.customerEmail.name).toBe("email");
  });

  it("leave the builders as they were, so that two tables can share one", () => {
    const shared = { code: text().notNull().unique() };
    const first = tenantTable("first", shared);
    const second = tenantTable("second", shared);
    for (const table of [first, second]) {
      expect(getTableConfig(table).uniqueConstraints.map((constraint) => constraint.getName())).toEqual([
        `${getTableConfig(table).name}_code_unique`,
      ]);
    }
    expect(getTableConfig(pgTable("plain", shared)).columns[0]?.isUnique).toBe(true);
  });

  it("cannot be declared twice under one name", () => {
    expect(refusal(() => tenantTable("orders", { a: text("note"), note: text() }))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message: 'Table "orders": a and note are both the column "note". Rename one of them.',
    });
  });

  it.each(["tenantId", "id"])("cannot redeclare %s", (property) => {
    expect(refusal(() => tenantTable("orders", { [property]: uuid() }))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message: `Table "orders" declares ${property} itself. tenantTable() adds tenant_id and id to every table; remove it.`,
    });
  });

  it("cannot name another property tenant_id", () => {
    expect(refusal(() => tenantTable("orders", { organisation: uuid("tenant_id") }))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message: 'Table "orders": tenantId and organisation are both the column "tenant_id". Rename one of them.',
    });
  });
});

describe("keys", () => {
  it("has the primary key (tenant_id, id)", () => {
    expect(getTableConfig(orders).primaryKeys.map((key) => names(key.columns))).toEqual([["tenant_id", "id"]]);
  });

  it("cannot have another primary key on a column", () => {
    expect(refusal(() => tenantTable("coupons", { code: text().primaryKey() }))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Column "code" of table "coupons" is declared as its primary key. The primary key of a tenant table is always ' +
        "(tenant_id, id); write code: ….notNull().unique() instead.",
    });
  });

  it("cannot have another primary key beside its columns", () => {
    const coupons = tenantTable("coupons", { code: text() }, (t) => [primaryKey({ columns: [t.code] })]);
    expect(refusal(() => getTableConfig(coupons))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Table "coupons" declares a primary key of its own. The primary key of a tenant table is always (tenant_id, id); ' +
        "declare yours with unique().on(…).",
    });
  });

  it("leads every unique constraint with tenant_id, under the name of the declared columns", () => {
    const constraints = getTableConfig(customers).uniqueConstraints;
    expect(constraints.map((each) => [each.getName(), names(each.columns), each.nullsNotDistinct])).toEqual([
      ["customers_email_unique", ["tenant_id", "email"], false],
      ["customers_tax", ["tenant_id", "tax_number"], true],
      ["customers_first_name_last_name_unique", ["tenant_id", "first_name", "last_name"], false],
    ]);
    expect(getTableConfig(customers).columns.filter((column) => column.isUnique)).toEqual([]);
  });

  it("moves a tenant_id that stands further back to the front", () => {
    const table = tenantTable("notes", { slug: text() }, (t) => [
      unique().on(t.slug, t.tenantId),
      index("by_slug").on(t.slug, t.tenantId),
    ]);
    const { uniqueConstraints, indexes } = getTableConfig(table);
    expect(names(uniqueConstraints[0]?.columns ?? [])).toEqual(["tenant_id", "slug"]);
    expect(names(indexes[0]?.config.columns ?? [])).toEqual(["tenant_id", "slug"]);
  });

  it("leads every b-tree index with tenant_id and leaves the other methods alone", () => {
    const described = getTableConfig(customers).indexes.map(({ config }) => [config.name, names(config.columns)]);
    expect(described).toEqual([
      ["customers_email_lower", ["tenant_id", "(expression)"]],
      ["customers_last_name_index", ["tenant_id", "last_name"]],
      ["customers_recent", ["tenant_id", "created_at"]],
      ["customers_words", ["(expression)"]],
    ]);
  });

  it("keeps what an index says besides its columns", () => {
    const table = tenantTable("notes", { slug: text() }, (t) => [
      index("by_slug")
        .on(t.slug.desc().nullsFirst())
        .concurrently()
        .with({ fillfactor: 70 })
        .where(sql`${t.slug} <> ''`),
    ]);
    const config = getTableConfig(table).indexes[0]?.config;
    expect(config).toMatchObject({ concurrently: true, with: { fillfactor: 70 }, unique: false });
    expect(new PgDialect().sqlToQuery(config!.where!).sql).toBe(`"notes"."slug" <> ''`);
    expect(config?.columns[1]).toMatchObject({ indexConfig: { order: "desc", nulls: "first" } });
  });

  it("gives the same answer however often it is read", () => {
    const read = () =>
      getTableConfig(customers).uniqueConstraints.map((constraint) => [
        constraint.getName(),
        names(constraint.columns),
      ]);
    expect(read()).toEqual(read());
  });

  it("has row-level security on in its declaration", () => {
    expect(getTableConfig(orders).enableRLS).toBe(true);
  });

  it("passes checks and policies through", () => {
    const { checks, policies } = getTableConfig(customers);
    expect(checks.map((each) => each.name)).toEqual(["customers_email_at"]);
    expect(policies.map((each) => each.name)).toEqual(["customers_named"]);
  });
});

const foreignKeys = (table: AnyTenantTable) =>
  getTableConfig(table).foreignKeys.map((key) => {
    const { columns, foreignColumns, foreignTable } = key.reference();
    const to = `${getTableConfig(foreignTable).name}(${names(foreignColumns).join(", ")})`;
    return `(${names(columns).join(", ")}) -> ${to} on delete ${key.onDelete} on update ${key.onUpdate}`;
  });

describe("foreign keys", () => {
  it("between tenant tables are composite", () => {
    expect(foreignKeys(orders)).toEqual([
      "(tenant_id, customer_id) -> customers(tenant_id, id) on delete cascade on update no action",
      '(tenant_id, referred_by_id) -> customers(tenant_id, id) on delete set null ("referred_by_id") on update no action',
    ]);
    expect(foreignKeys(orderLines)).toEqual([
      "(tenant_id, order_id) -> orders(tenant_id, id) on delete restrict on update no action",
      '(tenant_id, email) -> customers(tenant_id, email) on delete set null ("email") on update cascade',
    ]);
  });

  it("to a global table are as Drizzle has them", () => {
    expect(foreignKeys(customers)).toEqual(["(plan_code) -> plans(code) on delete set null on update no action"]);
    const plans = globalTable("plans", { code: text().primaryKey() });
    const usage = tenantTable("usage", { plan: text() }, (t) => [
      foreignKey({ columns: [t.plan], foreignColumns: [plans.code] }).onDelete("set null"),
    ]);
    expect(foreignKeys(usage)).toEqual(["(plan) -> plans(code) on delete set null on update no action"]);
  });

  it("may name tenant_id on both sides themselves", () => {
    const table = tenantTable("refunds", { orderId: uuid() }, (t) => [
      foreignKey({
        columns: [t.tenantId, t.orderId],
        foreignColumns: [orders.tenantId, orders.id],
        name: "refunds_order",
      }),
    ]);
    expect(foreignKeys(table)).toEqual([
      "(tenant_id, order_id) -> orders(tenant_id, id) on delete no action on update no action",
    ]);
    expect(getTableConfig(table).foreignKeys[0]?.getName()).toBe("refunds_order");
  });

  it.each([
    ["in another place", () => [orders.id, orders.tenantId] as const],
    ["on one side only", () => [orders.customerId, orders.id] as const],
  ])("cannot name tenant_id %s", (_where, foreignColumns) => {
    const table = tenantTable("refunds", { orderId: uuid() }, (t) => [
      foreignKey({
        columns: [t.tenantId, t.orderId],
        foreignColumns: [...foreignColumns()],
        name: "refunds_order",
      }),
    ]);
    expect(refusal(() => getTableConfig(table))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'The foreign key refunds_order of table "refunds" pairs tenant_id with another column. Leave tenant_id out: it is ' +
        "added in front on both sides.",
    });
  });

  it("cannot be inline references to a tenant table", () => {
    const table = tenantTable("refunds", { orderId: uuid().references(() => orders.id) });
    expect(refusal(() => getTableConfig(table))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Column "order_id" of table "refunds" uses .references() to the tenant table "orders", so it could point into ' +
        "another tenant. Write orderId: belongsTo(() => …) with that table instead.",
    });
  });

  it("cannot lead to a table that is neither tenant nor global", () => {
    const plain = pgTable("plain", { id: uuid().primaryKey() });
    const problem = {
      code: "ERR_DEFINITION_INVALID",
      message:
        'Table "refunds" refers to "plain", which was declared with a bare pgTable(). Declare it with tenantTable(), or with ' +
        "globalTable() if it has no tenant.",
    };
    const inline = tenantTable("refunds", { plainId: uuid().references(() => plain.id) });
    const beside = tenantTable("refunds", { plainId: uuid() }, (t) => [
      foreignKey({ columns: [t.plainId], foreignColumns: [plain.id] }),
    ]);
    expect(refusal(() => getTableConfig(inline))).toEqual(problem);
    expect(refusal(() => getTableConfig(beside))).toEqual(problem);
  });

  it("cannot belong to a global table", () => {
    const plans = globalTable("plans", { id: uuid().primaryKey() });
    const table = tenantTable("usage", { planId: belongsTo(() => plans as unknown as AnyTenantTable) });
    expect(refusal(() => getTableConfig(table))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Column "plan_id" of table "usage" uses belongsTo() with a table that has no tenant. Write planId: ….references(() ' +
        "=> …) with a column of that table instead.",
    });
  });

  it("cannot set null what may not be null", () => {
    const table = tenantTable("refunds", { orderId: belongsTo(() => orders, { onDelete: "set null" }).notNull() });
    expect(refusal(() => getTableConfig(table))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Column "order_id" of table "refunds" is not null, so on delete set null could never succeed. Drop .notNull(), or ' +
        'use "cascade" or "restrict".',
    });
  });

  it("set a default on the declared columns only", () => {
    const table = tenantTable("refunds", { orderId: uuid().notNull() }, (t) => [
      foreignKey({ columns: [t.orderId], foreignColumns: [orders.id] }).onDelete("set default"),
    ]);
    expect(foreignKeys(table)).toEqual([
      '(tenant_id, order_id) -> orders(tenant_id, id) on delete set default ("order_id") on update no action',
    ]);
  });

  it.each(["set null", "set default"] as const)(
    "cannot %s on update, which PostgreSQL has for all columns only",
    (action) => {
      const table = tenantTable("refunds", { orderId: uuid() }, (t) => [
        foreignKey({ columns: [t.orderId], foreignColumns: [orders.id], name: "refunds_order" }).onUpdate(action),
      ]);
      expect(refusal(() => getTableConfig(table))).toEqual({
        code: "ERR_DEFINITION_INVALID",
        message:
          `The foreign key refunds_order of table "refunds" says on update ${action}, which would change tenant_id too. ` +
          'Use "cascade", "restrict" or "no action".',
      });
    },
  );

  it("cannot be an array of belongsTo", () => {
    expect(refusal(() => tenantTable("carts", { orderIds: belongsTo(() => orders).array() }))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Column "order_ids" of table "carts" is an array of belongsTo(), and PostgreSQL has no foreign keys for the elements ' +
        "of an array. Use a table with one row for each pair.",
    });
  });

  it("get an index where no other begins with their column", () => {
    const indexes = (table: AnyTenantTable) => getTableConfig(table).indexes.map(({ config }) => config.name);
    expect(indexes(orders)).toEqual(["orders_customer_id_index", "orders_referred_by_id_index"]);
    expect(indexes(orderLines)).toEqual([]);
    const declared = tenantTable("refunds", { orderId: belongsTo(() => orders), cents: integer() }, (t) => [
      index("refunds_by_order").on(t.orderId, t.cents),
    ]);
    expect(indexes(declared)).toEqual(["refunds_by_order"]);
    const single = tenantTable("refunds", { orderId: belongsTo(() => orders).unique() });
    expect(indexes(single)).toEqual([]);
    const second = tenantTable("refunds", { orderId: belongsTo(() => orders), cents: integer() }, (t) => [
      index("refunds_by_cents").on(t.cents, t.orderId),
    ]);
    expect(indexes(second)).toEqual(["refunds_by_cents", "refunds_order_id_index"]);
    const partial = tenantTable("refunds", { orderId: belongsTo(() => orders), cents: integer() }, (t) => [
      index("refunds_large")
        .on(t.orderId)
        .where(sql`${t.cents} > 1000`),
    ]);
    expect(indexes(partial)).toEqual(["refunds_large", "refunds_order_id_index"]);
  });
});
