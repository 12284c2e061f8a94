import { tenantSchema } from "../../database/role-names.ts";
import type { SqlConnection } from "../../database/sql-connection.ts";
import { sql } from "../../generated/sql.ts";

/** A table that holds a tenant's rows, in both places: db/queries/move_tables.sql. Lists are quoted SQL. */
export interface MoveTable {
  readonly name: string;
  /** Its quoted name in the shared schema, and in the tenant's own. */
  readonly shared: string;
  readonly dedicated: string;
  readonly inShared: boolean;
  readonly inDedicated: boolean;
  readonly allColumns: string;
  /** Without generated columns. */
  readonly columns: string;
  /** The same, cast to the types of the place that they go to. */
  readonly toDedicated: string;
  readonly toShared: string;
  /** Columns that one of the two places has not. */
  readonly lonely: readonly string[];
  /** The primary key without tenant_id. */
  readonly key: readonly string[];
  readonly refersTo: readonly string[];
  readonly refersOutside: readonly string[];
  /** Triggers of the shared table that the move of its rows would fire. */
  readonly insertTriggers: readonly string[];
  readonly deleteTriggers: readonly string[];
  readonly alwaysTriggers: readonly string[];
  /** Statements that stop, and start again, the triggers of the dedicated table. */
  readonly disableTriggers: readonly string[];
  readonly enableTriggers: readonly string[];
}

/** @param owner a connection as the owner role, with an empty search_path */
export async function moveTables(owner: SqlConnection, tenantId: string): Promise<MoveTable[]> {
  return (await owner.query<MoveTable>(sql["db/queries/move_tables.sql"], [tenantSchema(tenantId)])).rows;
}

/**
 * Puts tables in an order in which each comes after those that it refers to. Tables that refer to each other in a circle come as
 * one group: they have to be written in one statement, since foreign keys are checked at its end.
 * (Tarjan's strongly connected components, which come out in this order.)
 */
export function parentsFirst<Table extends Pick<MoveTable, "name" | "refersTo">>(tables: readonly Table[]): Table[][] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const visited = new Map<string, number>();
  const open: Table[] = [];
  const groups: Table[][] = [];

  /** @returns the number of the earliest open table that can be reached from this one */
  function visit(table: Table): number {
    const number = visited.size;
    let earliest = number;
    visited.set(table.name, number);
    open.push(table);
    for (const name of table.refersTo) {
      const other = byName.get(name);
      if (!other) continue;
      if (!visited.has(name)) earliest = Math.min(earliest, visit(other));
      else if (open.includes(other)) earliest = Math.min(earliest, visited.get(name)!);
    }
    if (earliest === number) groups.push(open.splice(open.indexOf(table)));
    return earliest;
  }

  for (const table of tables) if (!visited.has(table.name)) visit(table);
  return groups;
}
