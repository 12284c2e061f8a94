import type { AnyPgTable, PgColumn } from "drizzle-orm/pg-core";
import { index, integer, jsonb, text, uuid } from "drizzle-orm/pg-core";
import { z } from "zod";
import type { TenantDb } from "../../src/database/types.ts";
import { belongsTo } from "../../src/tables/belongs-to.ts";
import { timestamps } from "../../src/tables/columns.ts";
import { conflictTarget } from "../../src/tables/conflict-target.ts";
import { globalTable } from "../../src/tables/global-table.ts";
import { idOf } from "../../src/tables/id-of.ts";
import type { AnyTenantTable } from "../../src/tables/table-kind.ts";
import { tenantTable } from "../../src/tables/tenant-table.ts";

/* Checked by `npm run types`: nothing here runs. Each block says which regression it stops. */

type Equals<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const assert = <_Holds extends true>() => {};
const exactly =
  <Expected>() =>
  <Actual>(_value: Actual, ..._differs: Equals<Actual, Expected> extends true ? [] : ["the types differ"]) => {};

const plans = globalTable("plans", { code: text().primaryKey(), cents: integer().notNull() });
const customers = tenantTable("customers", { email: text().notNull().unique() });
const orders = tenantTable(
  "orders",
  {
    customerId: belongsTo(() => customers, { onDelete: "cascade" }).notNull(),
    referredById: belongsTo(() => customers, { onDelete: "set null" }),
    planCode: text().references(() => plans.code),
    status: text({ enum: ["open", "paid"] })
      .notNull()
      .default("open"),
    details: jsonb().$type<{ gift: boolean }>(),
    ...timestamps(),
  },
  // The callback sees the added columns beside the declared ones.
  (t) => [index().on(t.tenantId, t.id, t.customerId, t.createdAt)],
);

// Rows lose their exact types, or the added columns go missing from them.
assert<
  Equals<
    typeof orders.$inferSelect,
    {
      tenantId: string;
      id: string;
      customerId: string;
      referredById: string | null;
      planCode: string | null;
      status: "open" | "paid";
      details: { gift: boolean } | null;
      createdAt: Date;
      updatedAt: Date;
    }
  >
>();

// An insert has to name what the database fills in.
assert<
  Equals<
    typeof orders.$inferInsert,
    {
      tenantId?: string | undefined;
      id?: string | undefined;
      customerId: string;
      referredById?: string | null | undefined;
      planCode?: string | null | undefined;
      status?: "open" | "paid" | undefined;
      details?: { gift: boolean } | null | undefined;
      createdAt?: Date | undefined;
      updatedAt?: Date | undefined;
    }
  >
>();

// A global table gets columns, or loses its name or schema, which Drizzle's joins are typed by.
assert<Equals<typeof plans.$inferSelect, { code: string; cents: number }>>();
assert<Equals<(typeof plans)["_"]["schema"], "global">>();
assert<Equals<(typeof orders)["_"]["name"], "orders">>();

// Queries on the tenant's transaction infer from the tables.
export async function queries(db: TenantDb) {
  const rows = await db.select().from(orders);
  exactly<(typeof orders.$inferSelect)[]>()(rows);
  const [inserted] = await db
    .insert(customers)
    .values({ email: "a@example.com" })
    .onConflictDoUpdate({ target: conflictTarget(customers.email), set: { email: "b@example.com" } })
    .returning();
  exactly<typeof customers.$inferSelect | undefined>()(inserted);
  // @ts-expect-error a required column is missing
  await db.insert(customers).values({ id: "0193a5b0-7c1e-7b5a-9d3f-3f1a2b4c5d6e" });
}

// Concrete tables stop fitting the general type, or Drizzle's.
export const anyTenant: AnyTenantTable = orders;
export const anyDrizzle: AnyPgTable[] = [orders, plans];
export const anyColumn: PgColumn = orders.customerId;

// A table may refer to itself, with the result spelled out.
const categories = tenantTable("categories", { parentId: belongsTo((): AnyTenantTable => categories) });
assert<Equals<typeof categories.$inferSelect, { tenantId: string; id: string; parentId: string | null }>>();

// @ts-expect-error the callback does not see columns that are not there
tenantTable("orders", {}, (t) => [index().on(t.missing)]);
// @ts-expect-error tenantId is added, never declared
tenantTable("orders", { tenantId: uuid() });
// @ts-expect-error id is added, never declared
tenantTable("orders", { id: integer() });
// @ts-expect-error a global table has no tenant
globalTable("plans", { tenantId: uuid() });
// @ts-expect-error a global table is referred to with .references()
belongsTo(() => plans);
// @ts-expect-error set default makes no sense for an id
belongsTo(() => customers, { onDelete: "set default" });
// @ts-expect-error ids of global tables are not probed
idOf(plans);
// @ts-expect-error at least one column
conflictTarget();

// The id's schema gives a string to the handler.
const params = z.object({ id: idOf(orders), after: idOf(orders).optional() });
exactly<{ id: string; after?: string | undefined }>()(params.parse({}));
