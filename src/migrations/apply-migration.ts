import type { SqlConnection } from "../database/sql-connection.ts";
import { MigrationFailed } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { DDL_LOCK_TIMEOUT, resetSession, withLockRetries } from "./ddl-session.ts";
import { beginMigration, checksumOfFirst, finishMigration, type PendingMigration, recordFailure } from "./ledger.ts";
import { migrationFailed } from "./migration-failed.ts";
import type { Statement } from "./split-statements.ts";
import type { Target } from "./target.ts";

export interface ApplyOptions {
  readonly target: Target;
  /** How often a file, or a statement of one without a transaction, is tried while a lock is in its way. */
  readonly lockTries: number;
}

/**
 * Runs one migration and writes its line in the ledger.
 * @throws MigrationFailed with the file, the line, the statement and PostgreSQL's words
 */
export async function applyMigration(
  connection: SqlConnection,
  migration: PendingMigration,
  options: ApplyOptions,
): Promise<void> {
  await resetSession(connection, options.target.searchPath);
  try {
    if (migration.isTransactional) {
      await withLockRetries(options.lockTries, () => applyInTransaction(connection, migration, options));
    } else {
      await applyStepByStep(connection, migration, options);
    }
  } catch (error) {
    await recordFailure(connection, options.target.name, migration, error);
    throw error;
  }
}

const NOTHING_APPLIED = "Nothing of the file was applied. Correct it and run `rowhouse migrate` again.";

async function applyInTransaction(
  connection: SqlConnection,
  migration: PendingMigration,
  { target }: ApplyOptions,
): Promise<void> {
  await connection.query("begin");
  let current: Statement | undefined;
  try {
    await connection.query(`set local search_path = ${target.searchPath}`);
    // First of all: whatever happens to the lock, no two transactions can apply the same file.
    await beginMigration(connection, target.name, migration, {
      checksum: migration.checksum,
      statementsDone: migration.statements.length,
    });
    for (current of migration.statements) {
      const text = await target.statementText(migration.id, current);
      if (text !== undefined) await connection.query(text);
    }
    current = undefined;
    await finishMigration(connection, target.name, migration);
    await connection.query("commit");
  } catch (error) {
    await connection.query("rollback").catch(() => {});
    throw migrationFailed(migration.id, current, error, NOTHING_APPLIED);
  }
}

/** Each statement by itself, and the ledger after each: the next run goes on where this one stopped. */
async function applyStepByStep(
  connection: SqlConnection,
  migration: PendingMigration,
  options: ApplyOptions,
): Promise<void> {
  const { id, statements, statementsDone } = migration;
  const { target } = options;
  const checksum = checksumOfFirst(statementsDone, migration);
  await beginMigration(connection, target.name, migration, { checksum, statementsDone });
  for (const [index, statement] of statements.entries()) {
    if (index < statementsDone) continue;
    try {
      const text = await target.statementText(id, statement);
      if (text !== undefined) await runAlone(connection, text, options.lockTries);
    } catch (error) {
      throw migrationFailed(id, statement, error, await stepRemedy(connection, index));
    }
    await assertNoInvalidIndex(connection, id, statement);
    await connection.query(
      "update rowhouse.migrations set statements_done = $3, checksum = $4 where target = $1 and id = $2",
      [target.name, id, index + 1, checksumOfFirst(index + 1, migration)],
    );
  }
  await finishMigration(connection, target.name, migration);
}

async function runAlone(connection: SqlConnection, statement: string, lockTries: number): Promise<void> {
  // CONCURRENTLY waits for every older snapshot and blocks nobody meanwhile: a timeout would only leave an invalid index.
  const isPatient = /\bconcurrently\b/i.test(statement);
  await connection.query(`set lock_timeout = ${isPatient ? 0 : DDL_LOCK_TIMEOUT}`);
  await withLockRetries(isPatient ? 1 : lockTries, () => connection.query(statement));
}

async function stepRemedy(connection: SqlConnection, done: number): Promise<string> {
  const remedy =
    `The file runs without a transaction: the ${done} statement(s) before this one stay applied and are recorded, and ` +
    "the next `rowhouse migrate` goes on with this one.";
  const invalid = await invalidIndexes(connection).catch(() => []);
  return invalid.length === 0 ? remedy : `${remedy} ${dropThem(invalid)}`;
}

/** After success too: IF NOT EXISTS takes an invalid index for one that is there. */
async function assertNoInvalidIndex(connection: SqlConnection, id: string, statement: Statement): Promise<void> {
  const invalid = await invalidIndexes(connection);
  if (invalid.length === 0) return;
  throw new MigrationFailed(`Migration ${id} stopped at line ${statement.line}. ${dropThem(invalid)}`);
}

async function invalidIndexes(connection: SqlConnection): Promise<string[]> {
  const { rows } = await connection.query<{ index: string }>(sql["db/queries/invalid_indexes.sql"]);
  return rows.map((row) => row.index);
}

function dropThem(indexes: readonly string[]): string {
  return (
    `Index ${indexes.join(", ")} is invalid: building it has failed, and no query uses it. Unless it is being built at ` +
    `this moment, drop it and run \`rowhouse migrate\` again:${indexes.map((index) => `\n  drop index concurrently ${index};`).join("")}`
  );
}
