import { getTableName, is } from "drizzle-orm";
import {
  PgArrayBuilder,
  foreignKey,
  unique,
  type PgColumn,
  type PgColumnBuilderBase,
  type PgTableExtraConfigValue,
} from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { belongingOf, type Belonging } from "./belongs-to.ts";
import { undeclaredTarget } from "./composite-foreign-key.ts";
import { columnConfig, inlineReferences, type ColumnBuilders } from "./drizzle-internals.ts";
import { isGlobalTable, isTenantTable } from "./table-kind.ts";

/** A constraint that a column was declared with, to be written once the table and its neighbours exist. */
export interface ColumnConstraint {
  readonly property: string;
  /** True when queries by this column should find an index. */
  readonly indexed: boolean;
  readonly declare: (column: PgColumn) => PgTableExtraConfigValue[];
}

/**
 * Takes `.unique()` and `belongsTo()` off the builders of a tenant table, so that they can be declared with `tenant_id`.
 *
 * @param columns builders of this table alone: they are changed
 * @throws DefinitionInvalid for what a column of a tenant table may not be
 */
export function takeColumnConstraints(table: string, columns: ColumnBuilders): ColumnConstraint[] {
  return Object.entries(columns).flatMap(([property, builder]) => {
    assertColumnAllowed(table, property, builder);
    const belonging = belongingOf(builder);
    return [
      ...takeUnique(property, builder),
      ...inlineReferences(builder).map((ref) => checkReference(table, property, ref)),
      ...(belonging ? [declareBelonging(table, property, belonging)] : []),
    ];
  });
}

function assertColumnAllowed(table: string, property: string, builder: PgColumnBuilderBase): void {
  const config = columnConfig(builder);
  if (config.primaryKey) {
    throw new DefinitionInvalid(
      `Column "${config.name}" of table "${table}" is declared as its primary key. The primary key of a tenant table is ` +
        `always (tenant_id, id); write ${property}: ….notNull().unique() instead.`,
    );
  }
  if (is(builder, PgArrayBuilder) && config.baseBuilder && belongingOf(config.baseBuilder)) {
    throw new DefinitionInvalid(
      `Column "${config.name}" of table "${table}" is an array of belongsTo(), and PostgreSQL has no foreign keys for ` +
        `the elements of an array. Use a table with one row for each pair.`,
    );
  }
}

function takeUnique(property: string, builder: PgColumnBuilderBase): ColumnConstraint[] {
  const config = columnConfig(builder);
  if (!config.isUnique) return [];
  config.isUnique = false;
  const { uniqueName, uniqueType } = config;
  const declare = (column: PgColumn) => {
    const constraint = unique(uniqueName).on(column);
    return [uniqueType === "not distinct" ? constraint.nullsNotDistinct() : constraint];
  };
  return [{ property, indexed: false, declare }];
}

/** Inline references reach Drizzle as they are, so they can only be checked. */
function checkReference(table: string, property: string, ref: () => PgColumn): ColumnConstraint {
  const declare = (column: PgColumn) => {
    const target = ref().table;
    if (isGlobalTable(target)) return [];
    const targetName = getTableName(target);
    if (!isTenantTable(target)) throw undeclaredTarget(table, targetName);
    throw new DefinitionInvalid(
      `Column "${column.name}" of table "${table}" uses .references() to the tenant table "${targetName}", so it could ` +
        `point into another tenant. Write ${property}: belongsTo(() => …) with that table instead.`,
    );
  };
  return { property, indexed: false, declare };
}

function declareBelonging(table: string, property: string, { target, onDelete }: Belonging): ColumnConstraint {
  const declare = (column: PgColumn) => {
    const foreignTable = target();
    if (!isTenantTable(foreignTable)) {
      throw new DefinitionInvalid(
        `Column "${column.name}" of table "${table}" uses belongsTo() with a table that has no tenant. ` +
          `Write ${property}: ….references(() => …) with a column of that table instead.`,
      );
    }
    return [foreignKey({ columns: [column], foreignColumns: [foreignTable.id] }).onDelete(onDelete)];
  };
  return { property, indexed: true, declare };
}
