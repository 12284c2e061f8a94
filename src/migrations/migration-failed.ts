import { serverErrorOf } from "../database/server-error.ts";
import { MigrationFailed } from "../errors.ts";
import type { Statement } from "./split-statements.ts";

/**
 * Says which statement of which file failed, and why. PostgreSQL's detail is left to the cause: it quotes rows.
 *
 * @param statement undefined when it was none of the file's
 * @param remedy what was kept, and the way out
 */
export function migrationFailed(
  id: string,
  statement: Statement | undefined,
  error: unknown,
  remedy: string,
): MigrationFailed {
  const server = serverErrorOf(error);
  const why = server ? `${server.message} (SQLSTATE ${server.code})` : (error as Error).message;
  const where = statement ? `failed at line ${lineOf(statement, server?.position)}` : "failed at its end";
  const hint = server?.hint ? ` Hint: ${server.hint}` : "";
  const excerpt = statement ? `\n  ${excerptOf(statement.text)}` : "";
  return new MigrationFailed(`Migration ${id} ${where}: ${why}.${hint}${excerpt}\n${remedy}`, { cause: error });
}

function lineOf(statement: Statement, position: number | undefined): number {
  if (position === undefined) return statement.line;
  const before = Array.from(statement.text)
    .slice(0, position - 1)
    .join("");
  return statement.line + before.split("\n").length - 1;
}

const EXCERPT_LENGTH = 200;

function excerptOf(text: string): string {
  const flat = text.replace(/\s+/g, " ");
  return flat.length <= EXCERPT_LENGTH ? flat : `${flat.slice(0, EXCERPT_LENGTH)} …`;
}
