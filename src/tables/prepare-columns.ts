import { toSnakeCase } from "drizzle-orm/casing";
import { DefinitionInvalid } from "../errors.ts";
import { cloneColumnBuilder, columnConfig, type ColumnBuilders } from "./drizzle-internals.ts";

/**
 * Copies the declared columns and names each one that has no name of its own: `totalCents` becomes `total_cents`. Doing it
 * here means that no `casing` option has to agree between the migrations and the queries.
 *
 * @throws DefinitionInvalid when two properties come to the same name
 */
export function prepareColumns<Columns extends ColumnBuilders>(table: string, columns: Columns): Columns {
  const propertyOf = new Map<string, string>();
  const prepared = Object.entries(columns).map(([property, builder]) => {
    const clone = cloneColumnBuilder(builder);
    const config = columnConfig(clone);
    if (config.name === "") config.name = toSnakeCase(property);
    config.keyAsName = false;
    const twin = propertyOf.get(config.name);
    if (twin !== undefined) {
      throw new DefinitionInvalid(
        `Table "${table}": ${twin} and ${property} are both the column "${config.name}". Rename one of them.`,
      );
    }
    propertyOf.set(config.name, property);
    return [property, clone] as const;
  });
  // The same keys with copies of the same builders.
  return Object.fromEntries(prepared) as Columns;
}
