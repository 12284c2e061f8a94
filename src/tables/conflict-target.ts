import { getTableName } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { isTenantTable } from "./table-kind.ts";

/**
 * The target of an upsert: the columns of a unique constraint as it was declared, with the `tenant_id` that leads it.
 *
 * @param columns columns of one tenant table
 * @throws DefinitionInvalid
 *
 * @example
 * db.insert(customers).values(row).onConflictDoUpdate({ target: conflictTarget(customers.email), set: { name } })
 */
export function conflictTarget(...columns: [PgColumn, ...PgColumn[]]): PgColumn[] {
  const { table } = columns[0];
  const stranger = columns.find((column) => column.table !== table);
  if (stranger !== undefined) {
    throw new DefinitionInvalid(
      `conflictTarget() got columns of two tables, "${getTableName(table)}" and "${getTableName(stranger.table)}". ` +
        `Give those of one unique constraint.`,
    );
  }
  if (isTenantTable(table)) return [table.tenantId, ...columns];
  throw new DefinitionInvalid(
    `conflictTarget() is for tenant tables, and "${getTableName(table)}" is none. Give Drizzle its columns as they are.`,
  );
}
