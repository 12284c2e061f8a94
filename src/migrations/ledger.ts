import { serverErrorOf } from "../database/server-error.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { MigrationFailed, MigrationInvalid } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { sha256, type Migration } from "./migration-files.ts";

interface LedgerRow {
  id: string;
  checksum: string;
  statements_done: number;
  is_applied: boolean;
}

/** A migration that is to be run, and how far an earlier run of it came. */
export interface PendingMigration extends Migration {
  /** Statements that are applied already: 0, or more for a file without a transaction that failed midway. */
  readonly statementsDone: number;
}

/**
 * Makes the ledger when there is none.
 * @throws MigrationFailed when the owner may not: the database was not initialised
 */
export async function createLedger(connection: SqlConnection): Promise<void> {
  try {
    await connection.query(sql["db/ledger.sql"]);
  } catch (error) {
    const server = serverErrorOf(error);
    if (server?.code !== "42501") throw error;
    throw new MigrationFailed(
      `The ledger of migrations cannot be made: ${server.message}. Run \`rowhouse init-database\` first.`,
      { cause: error },
    );
  }
}

/**
 * What is on disk and not applied, in the order of the files. Nothing is decided by "later than the last applied one": a
 * file that was merged late is pending like any other.
 *
 * @param target `shared`, or the name of a dedicated schema
 * @throws MigrationInvalid when an applied file was edited or is missing
 */
export async function pendingMigrations(
  connection: SqlConnection,
  target: string,
  migrations: readonly Migration[],
  sources: readonly string[],
): Promise<PendingMigration[]> {
  const { rows } = await connection.query<LedgerRow>(sql["db/queries/applied_migrations.sql"], [target, sources]);
  assertNoneMissing(rows, migrations);
  const ledger = new Map(rows.map((row) => [row.id, row]));
  return migrations.flatMap((migration) => {
    const row = ledger.get(migration.id);
    if (!row) return [{ ...migration, statementsDone: 0 }];
    if (row.is_applied) {
      assertUnedited(row, migration);
      return [];
    }
    assertResumable(row, migration);
    return [{ ...migration, statementsDone: row.statements_done }];
  });
}

/**
 * Opens the migration's line in the ledger, and locks it until the transaction ends.
 * @param statementsDone what the line is to say once this is committed
 * @throws MigrationInvalid when it was applied meanwhile
 */
export async function beginMigration(
  connection: SqlConnection,
  target: string,
  { id }: Migration,
  { checksum, statementsDone }: { checksum: string; statementsDone: number },
): Promise<void> {
  const { rowCount } = await connection.query(sql["db/queries/begin_migration.sql"], [
    target,
    id,
    checksum,
    statementsDone,
  ]);
  if (rowCount === 1) return;
  throw new MigrationInvalid(
    `Migration ${id} was applied by another runner meanwhile. Run \`rowhouse migrate\` again.`,
  );
}

/** Closes the migration's line: it is applied. */
export async function finishMigration(connection: SqlConnection, target: string, migration: Migration): Promise<void> {
  await connection.query(
    `update rowhouse.migrations set state = 'applied', applied_at = pg_catalog.clock_timestamp(), checksum = $3
     where target = $1 and id = $2`,
    [target, migration.id, migration.checksum],
  );
}

/** Records why an attempt has failed. Never throws: the failure itself tells more. */
export async function recordFailure(
  connection: SqlConnection,
  target: string,
  migration: Migration,
  error: unknown,
): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await connection
    .query(sql["db/queries/fail_migration.sql"], [target, migration.id, migration.checksum, message])
    .catch(() => {});
}

/** SHA-256 of the first `count` statements: what a file that stopped midway is recognised by. */
export function checksumOfFirst(count: number, migration: Migration): string {
  return sha256(
    migration.statements
      .slice(0, count)
      .map((statement) => `${statement.text};\n`)
      .join(""),
  );
}

function assertNoneMissing(rows: readonly LedgerRow[], migrations: readonly Migration[]): void {
  const present = new Set(migrations.map((migration) => migration.id));
  const missing = rows.filter((row) => !present.has(row.id)).map((row) => row.id);
  if (missing.length === 0) return;
  throw new MigrationInvalid(
    `The database has migrations that this code does not: ${missing.join(", ")}. Either it was migrated by a newer ` +
      "version, which should be the one to run, or the files were deleted: restore them from version control. " +
      "For one that is gone on purpose, delete its row from rowhouse.migrations as the owner.",
  );
}

function assertUnedited(row: LedgerRow, migration: Migration): void {
  if (row.checksum === migration.checksum) return;
  throw new MigrationInvalid(
    `Migration ${migration.id} was edited after it had been applied (SHA-256 ${row.checksum} then, ` +
      `${migration.checksum} now). Restore the file as it was, and put the change into a new migration.`,
  );
}

function assertResumable(row: LedgerRow, migration: Migration): void {
  // Nothing of it is applied: it may be corrected.
  if (row.statements_done === 0) return;
  const now = checksumOfFirst(row.statements_done, migration);
  if (row.checksum === now && !migration.isTransactional) return;
  throw new MigrationInvalid(
    `Migration ${migration.id} stopped after ${row.statements_done} statement(s) in an earlier run, and these were edited ` +
      `since (SHA-256 ${row.checksum} then, ${now} now), or it no longer says "-- rowhouse: no transaction". Restore that ` +
      "part; only what comes after it may be corrected.",
  );
}
