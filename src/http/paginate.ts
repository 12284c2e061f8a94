import { and, asc, desc, getTableColumns, sql, type InferSelectModel, type SQL } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { z } from "zod";
import type { TenantDb } from "../database/types.ts";
import { DataInvalid, DefinitionInvalid, RequestInvalid } from "../errors.ts";

/** One page of a list. `next` is the cursor of the page after it, null on the last one. */
export interface Page<Item> {
  readonly items: Item[];
  readonly next: string | null;
}

/**
 * The query parameters of a list, to be spread into a route's `query`.
 * @param limits how many rows a page has: 20 by default, 100 at the most
 */
export function pageQuery({ default: usual = 20, max = 100 }: { default?: number; max?: number } = {}) {
  return {
    limit: z.coerce.number().int().min(1).max(max).default(usual),
    cursor: z.string().max(500).optional(),
  };
}

type PageTable = PgTable & { id: PgColumn };

export interface PaginateOptions<Table extends PageTable> {
  /** What {@link pageQuery} parsed. */
  readonly query: { readonly limit: number; readonly cursor?: string | undefined };
  readonly where?: SQL | undefined;
  /** The column to order by; ids break ties. @defaultValue the id, which is in order of time (UUIDv7) */
  readonly by?: Table["_"]["columns"][string];
  /** @defaultValue "desc" */
  readonly direction?: "asc" | "desc";
}

/**
 * Reads one page by keyset: the cost of a page does not grow with its number, and rows that come in meanwhile shift nothing.
 * The cursor holds the last row's order value as PostgreSQL writes it, since a JavaScript Date would lose microseconds.
 *
 * @throws RequestInvalid for a cursor that this list did not give out
 */
export async function paginate<Table extends PageTable>(
  db: TenantDb,
  table: Table,
  { query, where, by, direction = "desc" }: PaginateOptions<Table>,
): Promise<Page<InferSelectModel<Table>>> {
  const column: PgColumn = by ?? table.id;
  if (!column.notNull) {
    throw new DefinitionInvalid(
      `Column "${column.name}" may be null, so a list cannot be ordered by it: rows would vanish.`,
    );
  }
  const order = direction === "asc" ? asc : desc;
  // Widened: Drizzle cannot see through a type parameter.
  const source: PgTable = table;
  const rows = await db
    .select({
      item: getTableColumns(source),
      key: sql<string>`${column}::text`,
      id: sql<string>`${table.id}::text`,
    })
    .from(source)
    .where(and(where, query.cursor === undefined ? undefined : beyond(column, table.id, direction, query.cursor)))
    .orderBy(order(column), order(table.id))
    .limit(query.limit + 1)
    .catch((error: unknown) => {
      // The database could not read the cursor's value as one of the column: somebody has changed it.
      throw error instanceof DataInvalid && query.cursor !== undefined ? badCursor(error) : error;
    });
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map((row) => row.item as InferSelectModel<Table>),
    next: rows.length > query.limit && last ? writeCursor([last.key, last.id]) : null,
  };
}

/** A row value comparison, which an index on (column, id) answers directly. */
function beyond(column: PgColumn, id: PgColumn, direction: "asc" | "desc", cursor: string): SQL {
  const [key, lastId] = readCursor(cursor);
  const type = sql.raw(column.getSQLType());
  const operator = sql.raw(direction === "asc" ? ">" : "<");
  return sql`(${column}, ${id}) ${operator} (${key}::text::${type}, ${lastId}::uuid)`;
}

type Cursor = readonly [key: string, id: string];

const cursorSchema = z.tuple([z.string(), z.guid()]);

const writeCursor = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString("base64url");

function readCursor(text: string): Cursor {
  const parsed = cursorSchema.safeParse(tryJson(Buffer.from(text, "base64url").toString()));
  if (parsed.success) return parsed.data;
  throw badCursor();
}

const badCursor = (cause?: unknown) =>
  new RequestInvalid("The cursor is not one that this list gave out. Start again without it.", {
    cause,
    problems: [{ path: "query.cursor", message: "not a cursor of this list" }],
  });

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
