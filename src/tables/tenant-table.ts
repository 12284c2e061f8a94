import { sql, type BuildColumns, type BuildExtraConfigColumns } from "drizzle-orm";
import {
  index,
  pgTable,
  primaryKey,
  uuid,
  type ExtraConfigColumn,
  type PgTable,
  type PgTableExtraConfigValue,
  type PgTableWithColumns,
} from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { takeColumnConstraints, type ColumnConstraint } from "./column-constraints.ts";
import type { ColumnBuilders } from "./drizzle-internals.ts";
import { prepareColumns } from "./prepare-columns.ts";
import { markTable } from "./table-kind.ts";
import { coversColumn, leadWithTenant } from "./tenant-leading.ts";

const tenantColumns = () => ({
  tenantId: uuid("tenant_id")
    .notNull()
    .default(sql`rowhouse.current_tenant()`),
  id: uuid("id")
    .notNull()
    .default(sql`rowhouse.uuid_v7()`),
});

type TenantColumns = ReturnType<typeof tenantColumns>;

/** The properties that `tenantTable()` adds itself. */
type Reserved = { readonly [Key in keyof TenantColumns]?: never };

/** A Drizzle table with the declared columns, `tenantId` and `id`. */
export type TenantTable<Name extends string, Columns extends ColumnBuilders> = PgTableWithColumns<{
  name: Name;
  schema: undefined;
  columns: BuildColumns<Name, TenantColumns & Columns, "pg">;
  dialect: "pg";
}>;

/**
 * Declares a table whose rows belong to tenants: Drizzle's `pgTable()` with `tenant_id` and `id` (both filled by the
 * database), the primary key `(tenant_id, id)`, and every unique constraint, index and foreign key led by `tenant_id`, so
 * that no value, reference or cascade reaches across tenants. Of the indexes, b-trees only: the other methods have no
 * operator class for uuid. Columns without a name of their own get their property's in snake_case.
 *
 * @param name the table's name, without a schema: the tenant's placement decides that
 * @param columns Drizzle column builders, and `belongsTo()` for references to tenant tables
 * @param extra `unique()`, `index()`, `foreignKey()`, `check()` …, without `tenant_id`. Like the references between tables,
 * it is read when the table is described or migrated, and mistakes in it are raised there
 * @throws DefinitionInvalid
 */
export function tenantTable<Name extends string, Columns extends ColumnBuilders>(
  name: Name,
  columns: Columns & Reserved,
  extra?: (self: BuildExtraConfigColumns<Name, TenantColumns & Columns, "pg">) => PgTableExtraConfigValue[],
): TenantTable<Name, Columns> {
  assertNotReserved(name, columns);
  const builders = prepareColumns<TenantColumns & Columns>(name, { ...tenantColumns(), ...columns });
  const fromColumns = takeColumnConstraints(name, builders);
  const table: TenantTable<Name, Columns> = pgTable(name, builders, (self) =>
    tenantConstraints(table, self, fromColumns, extra?.(self) ?? []),
  );
  // Said here too, though `rowhouse migrate` enables it: else drizzle-kit disables it with the last pgPolicy() removed.
  table.enableRLS();
  markTable(table, "tenant");
  return table;
}

function assertNotReserved(name: string, columns: ColumnBuilders): void {
  const taken = Object.keys(tenantColumns()).find((property) => property in columns);
  if (taken === undefined) return;
  throw new DefinitionInvalid(
    `Table "${name}" declares ${taken} itself. tenantTable() adds tenant_id and id to every table; remove it.`,
  );
}

type Self = Record<string, ExtraConfigColumn> & Record<keyof TenantColumns, ExtraConfigColumn>;

function tenantConstraints(
  table: PgTable,
  self: Self,
  fromColumns: readonly ColumnConstraint[],
  extra: readonly PgTableExtraConfigValue[],
): PgTableExtraConfigValue[] {
  const declared = [...fromColumns.flatMap(({ property, declare }) => declare(self[property]!)), ...extra];
  const led = declared.map((value) => leadWithTenant(value, { table, tenantId: self.tenantId }));
  const indexes = fromColumns
    .filter(({ indexed }) => indexed)
    .map(({ property }) => self[property]!)
    .filter((column) => !led.some((value) => coversColumn(value, column, table)))
    .map((column) => leadWithTenant(index().on(column), { table, tenantId: self.tenantId }));
  return [primaryKey({ columns: [self.tenantId, self.id] }), ...led, ...indexes];
}
