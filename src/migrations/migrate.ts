import { roleName } from "../database/role-names.ts";
import { connectSql, type SqlConnection } from "../database/sql-connection.ts";
import { ConfigInvalid, MigrationInvalid } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { applyMigration } from "./apply-migration.ts";
import { DDL_LOCK_TRIES, resetSession } from "./ddl-session.ts";
import { createLedger, pendingMigrations } from "./ledger.ts";
import { migrateDedicated, type Only, type TargetReport } from "./campaign.ts";
import { frameworkMigrations, readMigrations, type MigrationFolder } from "./migration-files.ts";
import { migrateSchema } from "./migrate-dedicated.ts";
import { takeMigrationLock } from "./migration-lock.ts";
import { secureTables } from "./secure-tables.ts";
import { sharedTarget } from "./target.ts";
import { withBlockers } from "./with-blockers.ts";

export interface MigrateOptions {
  /** Connects as the owner role, directly: a transaction pooler would lose the lock. */
  readonly ownerUrl: string;
  readonly rolePrefix: string;
  /** The application's migrations, run in this order after the framework's own. */
  readonly folders: readonly MigrationFolder[];
  /** @defaultValue 60_000 milliseconds to wait for another runner */
  readonly lockWait?: number;
  /** Dedicated schemas at work at the same time. @defaultValue 4, each with two connections */
  readonly parallel?: number;
  /** Go on with the other dedicated schemas when one fails. @defaultValue false: no further one is begun */
  readonly keepGoing?: boolean;
  /** Only the dedicated schemas that have failed before, or only those that have not. @defaultValue all of them */
  readonly only?: Only;
  /** @defaultValue 40 tries of a file, or of securing a table, that waits a second for a lock each time */
  readonly lockTries?: number;
}

export interface MigrationReport {
  /** Ids of the migrations that this run applied to the shared schema, in order. */
  readonly applied: readonly string[];
  /** Qualified names of the tables that this run secured. */
  readonly secured: readonly string[];
  /** The dedicated schemas in which there was something to do. */
  readonly dedicated: readonly TargetReport[];
}

/**
 * Brings the database to what the code expects: the framework's migrations, the application's, the wall on every tenant
 * table, then the same in every dedicated schema. Safe to run from many processes at once, and again at any time.
 *
 * @throws MigrationInvalid before anything is applied, when a file was edited, is missing or is malformed
 * @throws MigrationFailed when a statement fails; see there what stays applied
 * @throws MigrationLocked when another runner is not done in time
 */
export async function migrate(options: MigrateOptions): Promise<MigrationReport> {
  const { ownerUrl, rolePrefix, folders, lockWait = 60_000, lockTries = DDL_LOCK_TRIES } = options;
  const { parallel = 4, keepGoing = false, only } = options;
  const own = (await Promise.all(folders.map(readMigrations))).flat();
  const migrations = [...frameworkMigrations(), ...own];
  const sources = sourcesOf(folders);
  const target = sharedTarget(rolePrefix);
  await using connection = await connectSql(ownerUrl, "rowhouse migrate");
  const pid = await assertOwner(connection, rolePrefix);
  await using lock = await takeMigrationLock(ownerUrl, lockWait);
  await resetSession(connection);
  await createLedger(connection);
  const pending = await pendingMigrations(connection, target.name, migrations, sources);
  for (const migration of pending) {
    await lock.assertHeld();
    await withBlockers(lock.connection, pid, () => applyMigration(connection, migration, { target, lockTries }));
  }
  await lock.assertHeld();
  await resetSession(connection);
  const secured = await withBlockers(lock.connection, pid, () => secureTables(connection, { rolePrefix, lockTries }));
  const dedicated = await migrateDedicated(connection, {
    ...{ ownerUrl, rolePrefix, lockWait, lockTries, parallel, keepGoing, only },
    migrations: own,
    sources: folders.map(({ source }) => source),
  });
  return { applied: pending.map((migration) => migration.id), secured, dedicated };
}

/**
 * Brings the schema of one tenant to what the code expects, and puts the wall around its tables.
 * @param tenantId the tenant's UUID
 * @throws as {@link migrate} does
 */
export async function migrateTenantSchema(
  tenantId: string,
  { ownerUrl, rolePrefix, folders, lockWait = 60_000, lockTries = DDL_LOCK_TRIES }: MigrateOptions,
): Promise<void> {
  const migrations = (await Promise.all(folders.map(readMigrations))).flat();
  const sources = folders.map(({ source }) => source);
  await assertAllSources(ownerUrl, sources);
  await migrateSchema(tenantId, { ownerUrl, rolePrefix, migrations, sources, lockWait, lockTries });
}

/** A schema without some of the application's tables would be behind for ever, and nobody would have said so. */
async function assertAllSources(ownerUrl: string, sources: readonly string[]): Promise<void> {
  await using connection = await connectSql(ownerUrl, "rowhouse migrate");
  const { rows } = await connection.query<{ source: string }>(sql["db/queries/missing_sources.sql"], [sources]);
  if (rows.length === 0) return;
  const missing = rows.map(({ source }) => source).join(", ");
  throw new MigrationInvalid(
    `The shared schema has migrations of ${missing}, and a schema of a tenant's own needs them too. Name their folders as for ` +
      "`rowhouse migrate`, e.g. --migrations shop=./migrations.",
  );
}

function sourcesOf(folders: readonly MigrationFolder[]): string[] {
  const sources = ["rowhouse", ...folders.map((folder) => folder.source)];
  const twice = sources.find((source, index) => sources.indexOf(source) !== index);
  if (twice === undefined) return sources;
  throw new MigrationInvalid(`Two folders of migrations have the source "${twice}". Give each a source of its own.`);
}

/**
 * What another role creates belongs to it, and the owner's policies and grants would not hold for it.
 * @returns the connection's server process
 */
async function assertOwner(connection: SqlConnection, rolePrefix: string): Promise<number> {
  const { rows } = await connection.query<{ name: string; pid: number }>(
    "select current_user as name, pg_backend_pid() as pid",
  );
  const expected = roleName(rolePrefix, "owner");
  if (rows[0]!.name === expected) return rows[0]!.pid;
  throw new ConfigInvalid(
    `OWNER_DATABASE_URL connects as "${rows[0]!.name}", but migrations must run as "${expected}". Correct the URL, or ` +
      "ROWHOUSE_ROLE_PREFIX.",
  );
}
