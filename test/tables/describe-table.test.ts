import { numeric, pgTable, text, uuid, varchar } from "drizzle-orm/pg-core";
import { expect, it } from "vitest";
import { describeTable } from "../../src/tables/describe-table.ts";
import { tenantTable } from "../../src/tables/tenant-table.ts";
import { orders, plans } from "./fixtures/shop.ts";
import { refusal } from "./fixtures/refusal.ts";

it("describes a tenant table by the names and types it has in the database", () => {
  const invoices = tenantTable("invoices", {
    number: varchar({ length: 20 }).notNull(),
    grossTotal: numeric({ precision: 12, scale: 2 }),
    tags: text().array(),
  });
  expect(describeTable(invoices)).toEqual({
    kind: "tenant",
    schema: "public",
    name: "invoices",
    columns: [
      { name: "tenant_id", type: "uuid", notNull: true },
      { name: "id", type: "uuid", notNull: true },
      { name: "number", type: "varchar(20)", notNull: true },
      { name: "gross_total", type: "numeric(12, 2)", notNull: false },
      { name: "tags", type: "text[]", notNull: false },
    ],
  });
});

it("describes a global table", () => {
  expect(describeTable(plans)).toEqual({
    kind: "global",
    schema: "global",
    name: "plans",
    columns: [
      { name: "code", type: "text", notNull: true },
      { name: "monthly_cents", type: "integer", notNull: true },
    ],
  });
});

it("cannot describe a table that is neither", () => {
  expect(refusal(() => describeTable(pgTable("plain", { code: text() })))).toEqual({
    code: "ERR_DEFINITION_INVALID",
    message:
      'Table "plain" was declared with a bare pgTable(). Declare it with tenantTable(), or with globalTable() if it has no ' +
      "tenant.",
  });
});

it("raises mistakes in the references of a table", () => {
  expect(
    refusal(() => describeTable(tenantTable("refunds", { orderId: uuid().references(() => orders.id) }))),
  ).toMatchObject({
    code: "ERR_DEFINITION_INVALID",
  });
});
