import { sql } from "drizzle-orm";
import { timestamp } from "drizzle-orm/pg-core";

/**
 * `createdAt` and `updatedAt`, both by the database's clock: the time at which the transaction began. Drizzle's `update()`
 * sets `updatedAt`; SQL written by hand has to do so itself.
 *
 * @example
 * tenantTable("orders", { status: text().notNull(), ...timestamps() })
 */
export const timestamps = () => ({
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp("updated_at", { withTimezone: true })
    .notNull()
    .defaultNow()
    .$onUpdate(() => sql`now()`),
});
