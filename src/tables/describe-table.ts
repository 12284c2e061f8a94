import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { DefinitionInvalid } from "../errors.ts";
import { tableKind, type TableKind } from "./table-kind.ts";

interface ColumnDescription {
  readonly name: string;
  /** The type as Drizzle writes it in DDL: `varchar(20)`, `timestamp with time zone`, `text[]`. */
  readonly type: string;
  readonly notNull: boolean;
}

export interface TableDescription {
  readonly kind: TableKind;
  /** `global`, or `public`: where the rows of tenants without a placement of their own live. */
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly ColumnDescription[];
}

/**
 * Says what the code expects of a table in the database. Reads the whole declaration, so that mistakes in it show here.
 *
 * @throws DefinitionInvalid when it was declared with neither `tenantTable()` nor `globalTable()`, or wrongly
 */
export function describeTable(table: PgTable): TableDescription {
  const { schema, name, columns } = getTableConfig(table);
  const kind = tableKind(table);
  if (kind === undefined) {
    throw new DefinitionInvalid(
      `Table "${name}" was declared with a bare pgTable(). Declare it with tenantTable(), or with globalTable() if it ` +
        `has no tenant.`,
    );
  }
  return {
    kind,
    schema: schema ?? "public",
    name,
    columns: columns.map((column) => ({ name: column.name, type: column.getSQLType(), notNull: column.notNull })),
  };
}
