import { isNode, type Node, stringOf, walk } from "./tree.ts";

/**
 * Moves `tenant_id` from the first place of keys and indexes to the last. Queries carry no tenant filter, so in a schema
 * with one tenant an index that begins with tenant_id answers `where id = $1` only by being read whole (before PostgreSQL
 * 18; measured). A foreign key's two lists move alike.
 */
export function moveTenantLast(statement: Node, kind: string): void {
  if (kind === "IndexStmt") move(statement, "indexParams", indexColumn);
  walk(statement, (node) => {
    const constraint = node["Constraint"];
    if (!isNode(constraint)) return;
    move(constraint, "keys", stringOf);
    move(constraint, "exclusions", (item) => indexColumn(firstOf(item)));
    const [from, to] = [constraint["fk_attrs"], constraint["pk_attrs"]];
    // Only as pairs: a list that says where tenant_id points to must go on saying so.
    if (isTenantFirst(from, stringOf) && isTenantFirst(to, stringOf)) {
      move(constraint, "fk_attrs", stringOf);
      move(constraint, "pk_attrs", stringOf);
    }
  });
}

type ColumnOf = (item: unknown) => string | undefined;

const indexColumn: ColumnOf = (item) =>
  isNode(item) && isNode(item["IndexElem"]) ? (item["IndexElem"]["name"] as string | undefined) : undefined;

function firstOf(item: unknown): unknown {
  const items = isNode(item) && isNode(item["List"]) ? item["List"]["items"] : undefined;
  return Array.isArray(items) ? items[0] : undefined;
}

const isTenantFirst = (list: unknown, columnOf: ColumnOf): boolean =>
  Array.isArray(list) && columnOf(list[0]) === "tenant_id";

function move(node: Node, key: string, columnOf: ColumnOf): void {
  const list = node[key];
  if (!Array.isArray(list) || !isTenantFirst(list, columnOf)) return;
  const [tenant, ...others] = list as unknown[];
  node[key] = [...others, tenant];
}
