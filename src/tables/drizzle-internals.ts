import type { PgColumn, PgColumnBuilderBase, PgTable, UpdateDeleteAction } from "drizzle-orm/pg-core";
import type { ForeignKey, ForeignKeyBuilder, UniqueConstraint, UniqueConstraintBuilder } from "drizzle-orm/pg-core";

/*
 * The one place that reaches behind Drizzle's types (0.45). Rewriting a declaration means reading what its builders
 * hold, and Drizzle marks that protected or @internal. test/tables/ fails when an upgrade moves any of it.
 */

export type ColumnBuilders = Record<string, PgColumnBuilderBase>;

interface ColumnBuilderConfig {
  name: string;
  /** True when the column has no name of its own, so that a `casing` option may change it. */
  keyAsName: boolean;
  notNull: boolean;
  primaryKey: boolean;
  isUnique: boolean;
  uniqueName: string | undefined;
  uniqueType: string | undefined;
  /** The element of an array column. */
  baseBuilder?: PgColumnBuilderBase;
}

interface ColumnBuilderInternals {
  config: ColumnBuilderConfig;
  foreignKeyConfigs: { ref: () => PgColumn }[];
}

const internals = (builder: PgColumnBuilderBase) => builder as unknown as ColumnBuilderInternals;

export const columnConfig = (builder: PgColumnBuilderBase): ColumnBuilderConfig => internals(builder).config;

/** The columns that inline `.references()` point to; each is resolved only when called, since tables refer to each other. */
export const inlineReferences = (builder: PgColumnBuilderBase): (() => PgColumn)[] =>
  internals(builder).foreignKeyConfigs.map(({ ref }) => ref);

/** A copy whose configuration can be changed: the same builder may stand in several tables. */
export function cloneColumnBuilder<Builder extends PgColumnBuilderBase>(builder: Builder): Builder {
  const clone = Object.create(
    Object.getPrototypeOf(builder) as object,
    Object.getOwnPropertyDescriptors(builder),
  ) as Builder;
  internals(clone).config = { ...internals(builder).config };
  return clone;
}

export const buildUnique = (builder: UniqueConstraintBuilder, table: PgTable): UniqueConstraint =>
  (builder as unknown as { build(table: PgTable): UniqueConstraint }).build(table);

export const buildForeignKey = (builder: ForeignKeyBuilder, table: PgTable): ForeignKey =>
  (builder as unknown as { build(table: PgTable): ForeignKey }).build(table);

/**
 * `set null ("customer_id")`: an action on these columns only, where plain `set null` would null tenant_id as well.
 * drizzle-kit writes an action into its SQL as it is, but Drizzle's type knows no column list.
 * https://www.postgresql.org/docs/current/sql-createtable.html (since PostgreSQL 15)
 */
export function actionOnColumns(action: "set null" | "set default", columns: readonly PgColumn[]): UpdateDeleteAction {
  const names = columns.map((column) => `"${column.name.replaceAll('"', '""')}"`);
  return `${action} (${names.join(", ")})` as UpdateDeleteAction;
}
