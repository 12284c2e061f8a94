import { uuid, type PgColumnBuilderBase, type PgUUIDBuilderInitial } from "drizzle-orm/pg-core";
import type { AnyTenantTable } from "./table-kind.ts";

/** What happens to the row when the one it belongs to is deleted. */
export type OnDelete = "cascade" | "restrict" | "no action" | "set null";

export interface BelongsToOptions {
  /** @defaultValue "no action": the delete fails while rows refer to it */
  readonly onDelete?: OnDelete;
}

export interface Belonging {
  readonly target: () => AnyTenantTable;
  readonly onDelete: OnDelete;
}

const BELONGING = Symbol.for("rowhouse.belongs-to");

/**
 * A column that holds the id of a row in another tenant table: a `uuid` with the foreign key
 * `(tenant_id, <column>) -> (tenant_id, id)`, which cannot point into another tenant, and an index for it. Nullable
 * unless `.notNull()` follows. `set null` empties this column only.
 *
 * @param target a function, since tables may refer to each other. Where a table refers to itself, or two to each other,
 * TypeScript needs its result spelled out: `belongsTo((): AnyTenantTable => categories)`
 *
 * @example
 * tenantTable("orders", { customerId: belongsTo(() => customers, { onDelete: "cascade" }).notNull() })
 */
export function belongsTo(target: () => AnyTenantTable, options: BelongsToOptions = {}): PgUUIDBuilderInitial<""> {
  const belonging: Belonging = { target, onDelete: options.onDelete ?? "no action" };
  return Object.defineProperty(uuid(), BELONGING, { value: belonging });
}

/** What `belongsTo()` left on a column's builder. */
export function belongingOf(builder: PgColumnBuilderBase): Belonging | undefined {
  return (builder as { readonly [BELONGING]?: Belonging })[BELONGING];
}
