import { foreignKey, getTableConfig, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { describe, expect, it } from "vitest";
import { globalTable } from "../../src/tables/global-table.ts";
import { isGlobalTable, isTenantTable } from "../../src/tables/table-kind.ts";
import { orders, plans } from "./fixtures/shop.ts";
import { refusal } from "./fixtures/refusal.ts";

describe("globalTable", () => {
  it("stands in the schema global and gets no columns or keys", () => {
    const { schema, columns, uniqueConstraints, enableRLS } = getTableConfig(plans);
    expect(schema).toBe("global");
    expect(columns.map((column) => [column.name, column.primary, column.isUnique])).toEqual([
      ["code", true, false],
      ["monthly_cents", false, true],
    ]);
    expect([uniqueConstraints, enableRLS]).toEqual([[], false]);
  });

  it("keeps what it declares beside its columns", () => {
    const rates = globalTable("rates", { currency: text().primaryKey(), planCode: text() }, (t) => [
      index("rates_by_currency").on(t.currency),
      foreignKey({ columns: [t.planCode], foreignColumns: [plans.code] }),
    ]);
    const { indexes, foreignKeys } = getTableConfig(rates);
    expect(indexes[0]?.config.columns).toHaveLength(1);
    expect(foreignKeys[0]?.getName()).toBe("rates_plan_code_plans_code_fk");
  });

  it("is told apart from a tenant table", () => {
    expect([isGlobalTable(plans), isTenantTable(plans)]).toEqual([true, false]);
    expect([isGlobalTable(orders), isTenantTable(orders)]).toEqual([false, true]);
    const plain = pgTable("plain", { n: integer() });
    expect([isGlobalTable(plain), isTenantTable(plain), isTenantTable(null), isTenantTable("orders")]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it("cannot have a tenant", () => {
    expect(refusal(() => globalTable("rates", { owner: uuid("tenant_id") }))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Global table "rates" has a column tenant_id, but everyone may read its rows. Declare it with tenantTable().',
    });
  });

  it("cannot refer to a tenant table", () => {
    const problem = {
      code: "ERR_DEFINITION_INVALID",
      message:
        'Global table "rates" refers to the tenant table "orders". A row that everyone shares cannot depend on one ' +
        'tenant\'s: refer to a globalTable(), or make "rates" a tenantTable().',
    };
    const inline = globalTable("rates", { orderId: uuid().references(() => orders.id) });
    const beside = globalTable("rates", { orderId: uuid() }, (t) => [
      foreignKey({ columns: [t.orderId], foreignColumns: [orders.id] }),
    ]);
    expect(refusal(() => getTableConfig(inline))).toEqual(problem);
    expect(refusal(() => getTableConfig(beside))).toEqual(problem);
  });

  it("cannot refer to a table that is neither tenant nor global", () => {
    const plain = pgTable("plain", { id: uuid().primaryKey() });
    const rates = globalTable("rates", { plainId: uuid().references(() => plain.id) });
    expect(refusal(() => getTableConfig(rates))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message:
        'Global table "rates" refers to the bare pgTable() "plain". A row that everyone shares cannot depend on one ' +
        'tenant\'s: refer to a globalTable(), or make "rates" a tenantTable().',
    });
  });
});
