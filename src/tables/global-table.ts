import { getTableName, is } from "drizzle-orm";
import type { BuildColumns, BuildExtraConfigColumns } from "drizzle-orm";
import {
  ForeignKeyBuilder,
  pgSchema,
  type PgTable,
  type PgTableExtraConfigValue,
  type PgTableWithColumns,
} from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { buildForeignKey, columnConfig, inlineReferences, type ColumnBuilders } from "./drizzle-internals.ts";
import { prepareColumns } from "./prepare-columns.ts";
import { isGlobalTable, isTenantTable, markTable } from "./table-kind.ts";

/** A Drizzle table in the schema `global`. */
export type GlobalTable<Name extends string, Columns extends ColumnBuilders> = PgTableWithColumns<{
  name: Name;
  schema: "global";
  columns: BuildColumns<Name, Columns, "pg">;
  dialect: "pg";
}>;

/**
 * Declares one of the few tables that have no tenant (plans, currencies): in the schema `global`, the same rows for
 * everyone, and read-only for the application, so it is filled by migrations. Columns without a name of their own get their
 * property's in snake_case; nothing is added.
 *
 * @throws DefinitionInvalid for a tenant_id column; when described or migrated, also for a foreign key out of `global`
 */
export function globalTable<Name extends string, Columns extends ColumnBuilders>(
  name: Name,
  columns: Columns & { readonly tenantId?: never },
  extra?: (self: BuildExtraConfigColumns<Name, Columns, "pg">) => PgTableExtraConfigValue[],
): GlobalTable<Name, Columns> {
  const builders = prepareColumns<Columns>(name, columns);
  if (Object.values(builders).some((builder) => columnConfig(builder).name === "tenant_id")) {
    throw new DefinitionInvalid(
      `Global table "${name}" has a column tenant_id, but everyone may read its rows. Declare it with tenantTable().`,
    );
  }
  const references = Object.values(builders).flatMap(inlineReferences);
  const table: GlobalTable<Name, Columns> = pgSchema("global").table(name, builders, (self) => {
    const values = extra?.(self) ?? [];
    for (const reference of references) assertGlobal(name, reference().table);
    for (const value of values) {
      if (is(value, ForeignKeyBuilder)) assertGlobal(name, buildForeignKey(value, table).reference().foreignTable);
    }
    return values;
  });
  markTable(table, "global");
  return table;
}

function assertGlobal(name: string, target: PgTable): void {
  if (isGlobalTable(target)) return;
  const what = isTenantTable(target) ? "tenant table" : "bare pgTable()";
  throw new DefinitionInvalid(
    `Global table "${name}" refers to the ${what} "${getTableName(target)}". A row that everyone shares cannot depend on ` +
      `one tenant's: refer to a globalTable(), or make "${name}" a tenantTable().`,
  );
}
