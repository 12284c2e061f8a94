import { sql } from "drizzle-orm";
import { integer, numeric, pgEnum, text, uuid } from "drizzle-orm/pg-core";
import { globalTable } from "../../../../src/tables/global-table.ts";
import { tenantTable } from "../../../../src/tables/tenant-table.ts";

// second.ts after most of it was dropped.

export const orderState = pgEnum("order_state", ["new", "open", "sent", "paid", "it's"]);

export const plans = globalTable("plans", {
  id: uuid().primaryKey(),
  name: text().notNull(),
  price: integer().notNull(),
});

export const customers = tenantTable("customers", { email: text().notNull(), score: integer() });

export const orders = tenantTable("orders", {
  number: integer().notNull(),
  state: orderState(),
  total: numeric({ precision: 12, scale: 2 }).notNull().default("0"),
  doubled: numeric().generatedAlwaysAs(sql`total * 2`),
});
