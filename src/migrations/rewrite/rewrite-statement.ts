import { deparse, parse } from "pgsql-parser";
import { MigrationInvalid } from "../../errors.ts";
import type { Statement } from "../split-statements.ts";
import { bodyProblem } from "./bodies.ts";
import { type DedicatedNames, rewriteNames } from "./names.ts";
import { scopeOf } from "./scope.ts";
import { moveTenantLast } from "./tenant-last.ts";
import { meaningOf, type Node } from "./tree.ts";

/**
 * Rewrites a migration's statement for a tenant's own schema, through PostgreSQL's parse tree: `public` becomes that schema,
 * tenant_id the last column of keys and indexes, the application's role the tenant's; row-level security is left out.
 *
 * @returns the statement, or undefined when there is nothing to do: what exists once was migrated with the shared target
 * @throws MigrationInvalid with the line and the reason, when it cannot be rewritten faithfully
 */
export async function rewriteStatement(
  migrationId: string,
  statement: Statement,
  names: DedicatedNames,
): Promise<string | undefined> {
  const refuse = (reason: string, cause?: unknown) =>
    new MigrationInvalid(
      `Migration ${migrationId}, line ${statement.line}, cannot be applied to a tenant's own schema: ${reason}.\n  ` +
        statement.text.replace(/\s+/g, " ").slice(0, 120),
      { cause },
    );
  const tree = await parse(statement.text).catch((cause: unknown) => {
    throw refuse(`PostgreSQL's parser does not take it: ${(cause as Error).message}`, cause);
  });
  const [kind, node] = onlyStatement(tree);
  const scope = scopeOf(kind, node);
  if (typeof scope === "object") throw refuse(scope.refused);
  if (scope === "once" || !withoutRowSecurity(kind, node)) return undefined;
  const reason = bodyProblem(kind, node) ?? rewriteNames(node, kind, names);
  if (reason !== undefined) throw refuse(reason);
  moveTenantLast(node, kind);
  const text = await deparse(tree);
  // What is run must be what was meant: the text is read again.
  const again = await parse(text).catch(() => undefined);
  if (meaningOf(again) !== meaningOf(tree)) throw refuse("it cannot be written back faithfully");
  return text;
}

function onlyStatement(tree: unknown): [kind: string, statement: Node] {
  const { stmts } = tree as { stmts: { stmt: Record<string, Node> }[] };
  const [entry] = Object.entries(stmts[0]?.stmt ?? {});
  if (entry && stmts.length === 1) return entry;
  throw new Error("a statement is one statement");
}

const ROW_SECURITY = /^AT_(Enable|Disable|Force|NoForce)RowSecurity$/;

/** Leaves out what ALTER TABLE says of row-level security. @returns false when nothing is left */
function withoutRowSecurity(kind: string, statement: Node): boolean {
  if (kind !== "AlterTableStmt" || !Array.isArray(statement["cmds"])) return true;
  const left = (statement["cmds"] as { AlterTableCmd?: { subtype?: string } }[]).filter(
    ({ AlterTableCmd }) => !ROW_SECURITY.test(AlterTableCmd?.subtype ?? ""),
  );
  statement["cmds"] = left;
  return left.length > 0;
}
