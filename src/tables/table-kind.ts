import type { AnyPgTable, PgColumn, PgTable } from "drizzle-orm/pg-core";

export type TableKind = "tenant" | "global";

/** Any table made by `tenantTable()`. */
export type AnyTenantTable = PgTable & { readonly tenantId: PgColumn; readonly id: PgColumn };

/** Any table made by `globalTable()`. */
export type AnyGlobalTable = AnyPgTable<{ schema: "global" }>;

// Registered, so that two copies of this module (an ESM and a bundled one) agree on what a table is.
const KIND = Symbol.for("rowhouse.table-kind");

/** Marks a table. For `tenantTable()` and `globalTable()` only. */
export function markTable(table: PgTable, kind: TableKind): void {
  Object.defineProperty(table, KIND, { value: kind });
}

/** Which of the two kinds a Drizzle table is; undefined when it was declared with a bare `pgTable()`. */
export function tableKind(table: unknown): TableKind | undefined {
  if (typeof table !== "object" || table === null) return undefined;
  return (table as { readonly [KIND]?: TableKind })[KIND];
}

/** True for a table made by `tenantTable()`. */
export function isTenantTable(table: unknown): table is AnyTenantTable {
  return tableKind(table) === "tenant";
}

/** True for a table made by `globalTable()`. */
export function isGlobalTable(table: unknown): table is AnyGlobalTable {
  return tableKind(table) === "global";
}
