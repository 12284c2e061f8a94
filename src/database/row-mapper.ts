import { Column, is, SQL, Subquery } from "drizzle-orm";
import type { SelectedFieldsOrdered } from "drizzle-orm/pg-core/query-builders/select.types";
import * as drizzleUtils from "drizzle-orm/utils";

/** Makes a row, as it came from PostgreSQL, what the query's types promise. */
export type RowMapper = (row: readonly unknown[]) => unknown;

interface Decoder {
  mapFromDriverValue(value: unknown): unknown;
}

// Exported by the module and left out of its typings.
const { mapResultRow } = drizzleUtils as unknown as {
  mapResultRow: (fields: SelectedFieldsOrdered, row: readonly unknown[], notNull: unknown) => unknown;
};

/**
 * Drizzle's own mapper asks of each value of each row what kind of column it came from. Where no object lies inside another
 * (that is what joins make), this one asks once for all rows.
 * @param notNull which joined tables always have a row, as Drizzle's select builder has it
 */
export function rowMapper(fields: SelectedFieldsOrdered, notNull: unknown): RowMapper {
  if (fields.some(({ path }) => path.length !== 1)) return (row) => mapResultRow(fields, row, notNull);
  const names = fields.map(({ path }) => path[0] as string);
  const decoders = fields.map(({ field }) => decoderOf(field));
  return (row) => {
    const result: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index++) {
      const value = row[index];
      result[names[index] as string] = value === null ? null : (decoders[index] as Decoder).mapFromDriverValue(value);
    }
    return result;
  };
}

/** What reads a selected field's values: a column itself, or what its SQL was told by `mapWith()`. */
function decoderOf(field: SelectedFieldsOrdered[number]["field"]): Decoder {
  if (is(field, Column)) return field;
  const sql = is(field, SQL) ? field : is(field, Subquery) ? field._.sql : field.sql;
  return (sql as SQL & { decoder: Decoder }).decoder;
}
