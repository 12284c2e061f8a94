import { getTableName } from "drizzle-orm";
import { z } from "zod";
import { DefinitionInvalid } from "../errors.ts";
import { isTenantTable, tableKind, type AnyTenantTable } from "./table-kind.ts";

/** Which table an id points into. zod hands the entry on to the copies that `.describe()` and `.refine()` make. */
const tables = z.registry<{ table: unknown }>();

/**
 * The schema of an id of the table, for params, queries and bodies: any UUID (RFC 9562), since rows may be inserted with
 * ids of any version. It remembers the table, so that a cross-tenant probe can be made for every route that takes it.
 *
 * @throws DefinitionInvalid for a table that is not a tenant table
 */
export function idOf(table: AnyTenantTable): z.ZodGUID {
  if (tableKind(table) !== "tenant") {
    throw new DefinitionInvalid(
      `idOf() is for tenant tables, and "${getTableName(table)}" is none. Use z.uuid(), or what its key is.`,
    );
  }
  return z.guid({ error: "must be a UUID" }).register(tables, { table });
}

/**
 * The table that an `idOf()` schema points into, also through `.optional()`, `.nullable()`, `.default()`, `.transform()` and
 * their like; undefined for every other schema.
 */
export function tableOfId(schema: z.core.$ZodType): AnyTenantTable | undefined {
  const ids = findIds(schema);
  return ids.find(({ path }) => path.length === 0)?.table;
}

export interface IdPlace {
  /** Property names from the outside in; `*` for each element of an array, record or set: `["lines", "*", "productId"]`. */
  readonly path: readonly string[];
  readonly table: AnyTenantTable;
}

/** Every `idOf()` inside a schema, in the order of its declaration. */
export function findIds(schema: z.core.$ZodType): IdPlace[] {
  return walk(schema, [], []);
}

function walk(schema: z.core.$ZodType, path: readonly string[], above: readonly z.core.$ZodType[]): IdPlace[] {
  // A schema may contain itself.
  if (above.includes(schema)) return [];
  const table = tables.get(schema)?.table;
  if (isTenantTable(table)) return [{ path, table }];
  const inside = [...above, schema];
  return childrenOf(schema).flatMap(({ step, child }) =>
    walk(child, step === undefined ? path : [...path, step], inside),
  );
}

interface Child {
  /** Undefined when the child stands for the same value. */
  readonly step?: string;
  readonly child: z.core.$ZodType;
}

const same = (...children: z.core.$ZodType[]): Child[] => children.map((child) => ({ child }));
const each = (...children: z.core.$ZodType[]): Child[] => children.map((child) => ({ step: "*", child }));

function childrenOf(schema: z.core.$ZodType): Child[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object":
      return [
        ...Object.entries(def.shape).map(([step, child]) => ({ step, child })),
        ...(def.catchall ? each(def.catchall) : []),
      ];
    case "array":
      return each(def.element);
    case "tuple":
      return [
        ...def.items.map((child, place) => ({ step: String(place), child })),
        ...(def.rest ? each(def.rest) : []),
      ];
    case "record":
    case "map":
      return each(def.keyType, def.valueType);
    case "set":
      return each(def.valueType);
    case "union":
      return same(...def.options);
    case "intersection":
      return same(def.left, def.right);
    case "pipe":
      return same(def.in, def.out);
    case "lazy":
      return same(def.getter());
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "success":
    case "catch":
    case "readonly":
    case "promise":
      return same(def.innerType);
    default:
      return [];
  }
}
