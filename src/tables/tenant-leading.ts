import { getTableName, is } from "drizzle-orm";
import {
  ForeignKeyBuilder,
  IndexBuilder,
  IndexedColumn,
  PrimaryKeyBuilder,
  UniqueConstraintBuilder,
  index,
  type PgColumn,
  type PgTable,
  type PgTableExtraConfigValue,
} from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { compositeForeignKey, type TenantTableContext } from "./composite-foreign-key.ts";
import { buildUnique } from "./drizzle-internals.ts";

/**
 * Puts `tenant_id` in front of an index, a unique constraint or a foreign key. Names stay those that Drizzle gives for the
 * columns as they were declared. Checks and policies pass through.
 *
 * @throws DefinitionInvalid for a primary key, and for a foreign key that cannot be kept within one tenant
 */
export function leadWithTenant(value: PgTableExtraConfigValue, context: TenantTableContext): PgTableExtraConfigValue {
  if (is(value, IndexBuilder)) return leadingIndex(value, context);
  if (is(value, UniqueConstraintBuilder)) return leadingUnique(value, context);
  if (is(value, ForeignKeyBuilder)) return compositeForeignKey(value, context);
  if (is(value, PrimaryKeyBuilder)) {
    throw new DefinitionInvalid(
      `Table "${getTableName(context.table)}" declares a primary key of its own. The primary key of a tenant table is always ` +
        `(tenant_id, id); declare yours with unique().on(…).`,
    );
  }
  return value;
}

const isColumn = (column: object): column is IndexedColumn => is(column, IndexedColumn);

function leadingIndex(builder: IndexBuilder, { table, tenantId }: TenantTableContext): IndexBuilder {
  const { config } = builder.build(table);
  const method = config.method ?? "btree";
  const [first] = config.columns;
  // gin, gist and the like have no operator class for uuid without an extension; row-level security filters them.
  if (method !== "btree" || (first !== undefined && isColumn(first) && first.name === tenantId.name)) return builder;
  const rest = config.columns.filter((column) => !isColumn(column) || column.name !== tenantId.name);
  const [leading] = index().on(tenantId).build(table).config.columns;
  const columns = leading === undefined ? rest : [leading, ...rest];
  const names = rest.filter(isColumn).map((column) => column.name);
  const defaultName = names.length === rest.length ? `${getTableName(table)}_${names.join("_")}_index` : undefined;
  const result = new IndexBuilder(columns, config.unique, config.only, config.name ?? defaultName, method);
  if (config.concurrently) result.concurrently();
  if (config.with) result.with(config.with);
  if (config.where) result.where(config.where);
  return result;
}

function leadingUnique(
  builder: UniqueConstraintBuilder,
  { table, tenantId }: TenantTableContext,
): UniqueConstraintBuilder {
  const constraint = buildUnique(builder, table);
  const rest = constraint.columns.filter((column) => column.name !== tenantId.name);
  const result = new UniqueConstraintBuilder([tenantId, ...rest], constraint.getName());
  return constraint.nullsNotDistinct ? result.nullsNotDistinct() : result;
}

/** True when the value is an index, or has one, whose columns begin with `tenant_id` and this one. */
export function coversColumn(value: PgTableExtraConfigValue, column: PgColumn, table: PgTable): boolean {
  if (is(value, UniqueConstraintBuilder)) return buildUnique(value, table).columns[1]?.name === column.name;
  if (!is(value, IndexBuilder)) return false;
  const { config } = value.build(table);
  const second = config.columns[1];
  return (
    config.method === "btree" &&
    config.where === undefined &&
    second !== undefined &&
    isColumn(second) &&
    second.name === column.name
  );
}
