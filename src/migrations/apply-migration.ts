import { withRolePrefix } from "../database/role-names.ts";
import { serverErrorOf } from "../database/server-error.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { MigrationFailed } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import {
  DDL_LOCK_TIMEOUT,
  isLockFailure,
  MIGRATION_SEARCH_PATH,
  resetSession,
  withLockRetries,
} from "./ddl-session.ts";
import { checksumOfFirst, type PendingMigration } from "./ledger.ts";
import type { Statement } from "./split-statements.ts";

/**
 * Runs one migration and writes its line in the ledger.
 * @throws MigrationFailed with the file, the line, the statement and PostgreSQL's words
 */
export async function applyMigration(
  connection: SqlConnection,
  migration: PendingMigration,
  rolePrefix: string,
): Promise<void> {
  await resetSession(connection);
  const statements = migration.statements.map(({ text, line }) => ({ text: withRolePrefix(text, rolePrefix), line }));
  const prepared = { ...migration, statements };
  if (migration.isTransactional) await withLockRetries(() => applyInTransaction(connection, migration.id, prepared));
  else await applyStepByStep(connection, prepared, migration);
}

async function applyInTransaction(connection: SqlConnection, id: string, migration: PendingMigration): Promise<void> {
  await connection.query("begin");
  let current: Statement | undefined;
  try {
    await connection.query(`set local search_path = ${MIGRATION_SEARCH_PATH}`);
    // First of all: whatever happens to the lock, no two transactions can apply the same file.
    await connection.query("insert into rowhouse.migrations (id, checksum, statements_done) values ($1, $2, $3)", [
      id,
      migration.checksum,
      migration.statements.length,
    ]);
    for (current of migration.statements) await connection.query(current.text);
    current = undefined;
    await connection.query("update rowhouse.migrations set applied_at = clock_timestamp() where id = $1", [id]);
    await connection.query("commit");
  } catch (error) {
    await connection.query("rollback").catch(() => {});
    throw failure(id, current, error, "Nothing of the file was applied. Correct it and run `rowhouse migrate` again.");
  }
}

/** Each statement by itself, and the ledger after each: the next run goes on where this one stopped. */
async function applyStepByStep(
  connection: SqlConnection,
  migration: PendingMigration,
  original: PendingMigration,
): Promise<void> {
  const { id, statements } = migration;
  await connection.query(
    "insert into rowhouse.migrations (id, checksum, statements_done) values ($1, $2, 0) on conflict (id) do nothing",
    [id, checksumOfFirst(0, original)],
  );
  for (const [index, statement] of statements.entries()) {
    if (index < migration.statementsDone) continue;
    try {
      await runAlone(connection, statement);
    } catch (error) {
      throw failure(id, statement, error, await stepRemedy(connection, index));
    }
    await assertNoInvalidIndex(connection, id, statement);
    const done = index + 1;
    await connection.query("update rowhouse.migrations set statements_done = $2, checksum = $3 where id = $1", [
      id,
      done,
      checksumOfFirst(done, original),
    ]);
  }
  await connection.query("update rowhouse.migrations set applied_at = clock_timestamp(), checksum = $2 where id = $1", [
    id,
    migration.checksum,
  ]);
}

async function runAlone(connection: SqlConnection, statement: Statement): Promise<void> {
  // CONCURRENTLY waits for every older snapshot, and blocks nobody meanwhile: a timeout would only leave an invalid index.
  const isPatient = /\bconcurrently\b/i.test(statement.text);
  await connection.query(`set lock_timeout = ${isPatient ? 0 : DDL_LOCK_TIMEOUT}`);
  if (isPatient) await connection.query(statement.text);
  else await withLockRetries(() => connection.query(statement.text));
}

async function stepRemedy(connection: SqlConnection, done: number): Promise<string> {
  const remedy =
    `It runs without a transaction: the ${done} statement(s) before this one stay applied and are recorded, and the next ` +
    "`rowhouse migrate` goes on with this one.";
  const invalid = await invalidIndexes(connection).catch(() => []);
  return invalid.length === 0 ? remedy : `${remedy} ${dropThem(invalid)}`;
}

async function assertNoInvalidIndex(connection: SqlConnection, id: string, statement: Statement): Promise<void> {
  const invalid = await invalidIndexes(connection);
  if (invalid.length === 0) return;
  throw new MigrationFailed(`Migration ${id}, line ${statement.line}: ${dropThem(invalid)}`);
}

async function invalidIndexes(connection: SqlConnection): Promise<string[]> {
  const { rows } = await connection.query<{ index: string }>(sql["db/queries/invalid_indexes.sql"]);
  return rows.map((row) => row.index);
}

function dropThem(indexes: readonly string[]): string {
  return (
    `Index ${indexes.join(", ")} is invalid: building it has failed once, and no query uses it. Drop it and run ` +
    `\`rowhouse migrate\` again:${indexes.map((index) => `\n  drop index concurrently ${index};`).join("")}`
  );
}

function failure(id: string, statement: Statement | undefined, error: unknown, remedy: string): Error {
  if (isLockFailure(error)) return error as Error;
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
