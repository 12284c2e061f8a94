/** A node of PostgreSQL's parse tree as JSON: an object whose one key says what it is, e.g. `{ RangeVar: { relname: "orders" } }`. */
export type Node = Record<string, unknown>;

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The text of a `String` node, or undefined for any other. */
export function stringOf(value: unknown): string | undefined {
  if (!isNode(value) || !isNode(value["String"])) return undefined;
  // The parser leaves out what is empty.
  return (value["String"]["sval"] as string | undefined) ?? "";
}

/** The value under a key when it is a text, else "". */
export const textUnder = (node: Node, key: string): string => {
  const value = node[key];
  return typeof value === "string" ? value : "";
};

/** Kinds of objects that are named after their table: schema, table, name. */
const INSIDE_TABLES: ReadonlySet<string> = new Set([
  "OBJECT_COLUMN",
  "OBJECT_TABCONSTRAINT",
  "OBJECT_TRIGGER",
  "OBJECT_RULE",
]);

/** How many names the object of COMMENT or DROP has when the first is a schema. */
export const qualifiedLength = (statement: Node): number =>
  INSIDE_TABLES.has(textUnder(statement, "objtype") || textUnder(statement, "removeType")) ? 3 : 2;

export const stringNode = (sval: string): Node => ({ String: { sval } });

/** The texts of a list of `String` nodes, or undefined when it is anything else. */
export function stringsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts = value.map(stringOf);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** Calls `visit` with every object of the tree, the outer before the inner, and the key under which it stands. */
export function walk(value: unknown, visit: (node: Node, key: string) => void, key = ""): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit, key);
  else if (isNode(value)) {
    visit(value, key);
    for (const [name, child] of Object.entries(value)) walk(child, visit, name);
  }
}

const POSITIONS: ReadonlySet<string> = new Set(["location", "stmt_location", "stmt_len", "version"]);

/** The tree as text without the positions in the source: equal for trees that mean the same. */
export function meaningOf(tree: unknown): string {
  return JSON.stringify(tree, (key, value: unknown) => {
    if (POSITIONS.has(key)) return undefined;
    if (!isNode(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
