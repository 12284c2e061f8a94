import { sql } from "drizzle-orm";
import {
  bigint,
  bigserial,
  boolean,
  char,
  check,
  date,
  doublePrecision,
  foreignKey,
  index,
  inet,
  integer,
  interval,
  json,
  jsonb,
  numeric,
  pgEnum,
  pgMaterializedView,
  pgSequence,
  pgTable,
  pgView,
  point,
  primaryKey,
  serial,
  smallint,
  text,
  time,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
  varchar,
} from "drizzle-orm/pg-core";
import { belongsTo } from "../../../../src/tables/belongs-to.ts";
import { globalTable } from "../../../../src/tables/global-table.ts";
import { tenantTable } from "../../../../src/tables/tenant-table.ts";

// What drizzle-kit 0.31 makes SQL of, step by step: first.ts, then second.ts, then third.ts. The files of corpus/ are its output.

export const orderState = pgEnum("order_state", ["open", "paid", "it's"]);
export const mood = pgEnum("mood", ["good", "bad"]);
export const numbers = pgSequence("invoice_numbers", { startWith: 100, increment: 5 });

export const plans = globalTable("plans", {
  id: uuid().primaryKey(),
  name: text().notNull().unique(),
  price: integer().notNull(),
});

export const customers = tenantTable(
  "customers",
  {
    email: text().notNull(),
    name: varchar({ length: 200 }).notNull().default("nobody"),
    country: char({ length: 2 }),
    planId: uuid().references(() => plans.id),
    tags: text().array().notNull().default([]),
    data: jsonb().notNull().default({}),
    raw: json(),
    createdAt: timestamp({ withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    unique().on(table.email),
    unique("customers_name_country").on(table.name, table.country).nullsNotDistinct(),
    index().on(table.createdAt.desc()),
    index("customers_data").using("gin", table.data),
    index("customers_data_path").using("gin", sql`${table.data} jsonb_path_ops`),
    index("customers_lower_email").on(sql`lower(${table.email})`),
    uniqueIndex("customers_one_open")
      .on(table.name)
      .where(sql`${table.country} is not null`),
    check("customers_email_has_at", sql`${table.email} like '%@%'`),
  ],
);

export const orders = tenantTable(
  "orders",
  {
    number: integer().notNull(),
    serialNumber: serial().notNull(),
    bigNumber: bigserial({ mode: "bigint" }).notNull(),
    identity: integer().generatedAlwaysAsIdentity({ startWith: 10 }),
    byDefault: bigint({ mode: "number" }).generatedByDefaultAsIdentity(),
    customerId: belongsTo(() => customers, { onDelete: "set null" }),
    parentId: uuid(),
    state: orderState().notNull().default("open"),
    states: orderState().array(),
    total: numeric({ precision: 12, scale: 2 }).notNull().default("0"),
    doubled: numeric().generatedAlwaysAs(sql`total * 2`),
    isDone: boolean().notNull().default(false),
    weight: doublePrecision(),
    small: smallint(),
    day: date()
      .notNull()
      .default(sql`current_date`),
    at: time(),
    took: interval(),
    ip: inet(),
    place: point(),
  },
  (table) => [
    unique().on(table.number),
    foreignKey({
      columns: [table.tenantId, table.parentId],
      foreignColumns: [table.tenantId, table.id],
      name: "orders_parent",
    }).onDelete("cascade"),
    index("orders_state").on(table.state, table.day.desc().nullsLast()),
    check("orders_total_is_positive", sql`${table.total} >= 0`),
  ],
);

export const orderTags = tenantTable("order_tags", {
  orderId: belongsTo(() => orders, { onDelete: "cascade" }),
  tag: text().notNull(),
});

export const plain = pgTable(
  "plain",
  { tenantId: uuid("tenant_id").notNull(), a: integer().notNull(), b: integer().notNull(), "quoted name": text() },
  (table) => [primaryKey({ columns: [table.tenantId, table.a, table.b] }), index("plain_tenant").on(table.tenantId)],
);

export const openOrders = pgView("open_orders")
  .with({ securityInvoker: true })
  .as((query) =>
    query
      .select()
      .from(orders)
      .where(sql`${orders.state} = 'open'`),
  );
export const totals = pgMaterializedView("totals").as((query) =>
  query
    .select({ tenantId: orders.tenantId, sum: sql<number>`sum(${orders.total})`.as("sum") })
    .from(orders)
    .groupBy(orders.tenantId),
);
