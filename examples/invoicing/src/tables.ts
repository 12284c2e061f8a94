import { date, integer, text } from "drizzle-orm/pg-core";
import { belongsTo, tenantTable, timestamps } from "rowhouse";

export const customers = tenantTable("customers", {
  name: text().notNull(),
  email: text().notNull().unique(),
  ...timestamps(),
});

export const orders = tenantTable("orders", {
  customerId: belongsTo(() => customers, { onDelete: "restrict" }).notNull(),
  status: text({ enum: ["open", "invoiced", "cancelled"] })
    .notNull()
    .default("open"),
  note: text(),
  ...timestamps(),
});

export const orderItems = tenantTable("order_items", {
  orderId: belongsTo(() => orders, { onDelete: "cascade" }).notNull(),
  description: text().notNull(),
  quantity: integer().notNull(),
  unitCents: integer().notNull(),
});

export const invoices = tenantTable("invoices", {
  orderId: belongsTo(() => orders, { onDelete: "restrict" })
    .notNull()
    .unique(),
  totalCents: integer().notNull(),
  dueOn: date().notNull(),
  ...timestamps(),
});

export const payments = tenantTable("payments", {
  invoiceId: belongsTo(() => invoices, { onDelete: "restrict" }).notNull(),
  amountCents: integer().notNull(),
  ...timestamps(),
});
