import { getTableName } from "drizzle-orm";
import {
  ForeignKeyBuilder,
  type ForeignKey,
  type PgColumn,
  type PgTable,
  type UpdateDeleteAction,
} from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { actionOnColumns, buildForeignKey } from "./drizzle-internals.ts";
import { isGlobalTable, isTenantTable } from "./table-kind.ts";

/** The tenant table a constraint is written for, and its `tenant_id`. */
export interface TenantTableContext {
  readonly table: PgTable;
  readonly tenantId: PgColumn;
}

/**
 * Turns `(x_id) -> (id)` into `(tenant_id, x_id) -> (tenant_id, id)`: PostgreSQL checks foreign keys past row-level
 * security, so only the key itself keeps a reference, and a cascade, within one tenant. A foreign key into a global table
 * stays as it is.
 *
 * @throws DefinitionInvalid
 */
export function compositeForeignKey(builder: ForeignKeyBuilder, context: TenantTableContext): ForeignKeyBuilder {
  const { table, tenantId } = context;
  const name = getTableName(table);
  const foreignKey = buildForeignKey(builder, table);
  const { columns, foreignColumns, foreignTable } = foreignKey.reference();
  if (isGlobalTable(foreignTable)) return builder;
  if (!isTenantTable(foreignTable)) throw undeclaredTarget(name, getTableName(foreignTable));

  const own = columns.filter((column) => column.name !== tenantId.name);
  const foreign = foreignColumns.filter((column) => column.name !== tenantId.name);
  const ownPlace = columns.findIndex((column) => column.name === tenantId.name);
  const foreignPlace = foreignColumns.findIndex((column) => column.name === tenantId.name);
  if (own.length !== foreign.length || (ownPlace !== foreignPlace && ownPlace >= 0 && foreignPlace >= 0)) {
    throw new DefinitionInvalid(
      `The foreign key ${foreignKey.getName()} of table "${name}" pairs tenant_id with another column. ` +
        `Leave tenant_id out: it is added in front on both sides.`,
    );
  }
  return new ForeignKeyBuilder(
    () => ({
      name: foreignKey.getName(),
      columns: [tenantId, ...own],
      foreignColumns: [foreignTable.tenantId, ...foreign],
    }),
    { onUpdate: updateAction(foreignKey, name), onDelete: deleteAction(foreignKey, own, name) },
  );
}

export const undeclaredTarget = (name: string, target: string): DefinitionInvalid =>
  new DefinitionInvalid(
    `Table "${name}" refers to "${target}", which was declared with a bare pgTable(). ` +
      `Declare it with tenantTable(), or with globalTable() if it has no tenant.`,
  );

function updateAction(foreignKey: ForeignKey, name: string): UpdateDeleteAction {
  const action = foreignKey.onUpdate ?? "no action";
  if (action !== "set null" && action !== "set default") return action;
  throw new DefinitionInvalid(
    `The foreign key ${foreignKey.getName()} of table "${name}" says on update ${action}, which would change ` +
      `tenant_id too. Use "cascade", "restrict" or "no action".`,
  );
}

function deleteAction(foreignKey: ForeignKey, own: readonly PgColumn[], name: string): UpdateDeleteAction {
  const action = foreignKey.onDelete ?? "no action";
  if (action !== "set null" && action !== "set default") return action;
  const required = action === "set null" ? own.find((column) => column.notNull) : undefined;
  if (required === undefined) return actionOnColumns(action, own);
  throw new DefinitionInvalid(
    `Column "${required.name}" of table "${name}" is not null, so on delete set null could never succeed. ` +
      `Drop .notNull(), or use "cascade" or "restrict".`,
  );
}
