import { roleName, tenantRoleName, withRolePrefix } from "../database/role-names.ts";
import { connectSql, type SqlConnection } from "../database/sql-connection.ts";
import { sql } from "../generated/sql.ts";
import { applyMigration } from "./apply-migration.ts";
import { resetSession, withLockRetries } from "./ddl-session.ts";
import { pendingMigrations } from "./ledger.ts";
import type { Migration } from "./migration-files.ts";
import { takeMigrationLock } from "./migration-lock.ts";
import { inTransaction } from "./secure-tables.ts";
import { dedicatedTarget } from "./target.ts";
import { withBlockers } from "./with-blockers.ts";

/** What is to do in one dedicated schema. */
export interface DedicatedWork {
  /** The schema's name. */
  readonly target: string;
  /** The tenant's UUID. */
  readonly tenant: string;
  /** Ids of migrations that are not applied there, in order. */
  readonly pending: readonly string[];
  /** True when the last attempt there has failed. */
  readonly hasFailed: boolean;
  readonly insecure: readonly { readonly kind: "schema" | "table" | "sequence"; readonly name: string }[];
}

export interface DedicatedOptions {
  readonly ownerUrl: string;
  readonly rolePrefix: string;
  /** The application's migrations, in order. The framework's own tables exist once. */
  readonly migrations: readonly Migration[];
  readonly sources: readonly string[];
  readonly lockWait: number;
  readonly lockTries: number;
}

/** Asks, in one query, in which dedicated schemas something is to do. */
export async function dedicatedWork(
  connection: SqlConnection,
  { rolePrefix, migrations }: Pick<DedicatedOptions, "rolePrefix" | "migrations">,
): Promise<DedicatedWork[]> {
  const { rows } = await connection.query<DedicatedWork>(
    withRolePrefix(sql["db/queries/dedicated_targets.sql"], rolePrefix),
    [migrations.map(({ id }) => id), migrations.map(({ checksum }) => checksum)],
  );
  return rows;
}

/**
 * Brings one dedicated schema to what the code expects, then puts the wall around its tables.
 * @returns ids of the migrations that were applied
 * @throws MigrationInvalid, MigrationFailed, MigrationLocked as `migrate()` does
 */
export async function migrateSchema(tenantId: string, options: DedicatedOptions): Promise<string[]> {
  const { ownerUrl, rolePrefix, lockWait, lockTries } = options;
  const target = dedicatedTarget(rolePrefix, tenantId);
  await using connection = await connectSql(ownerUrl, `rowhouse migrate (${target.name})`);
  await using lock = await takeMigrationLock(ownerUrl, lockWait, { target: target.name });
  const { rows } = await connection.query<{ pid: number }>("select pg_backend_pid() as pid");
  const watch = <Result>(work: () => Promise<Result>) => withBlockers(lock.connection, rows[0]!.pid, work);
  const pending = await pendingMigrations(connection, target.name, options.migrations, options.sources);
  for (const migration of pending) {
    await lock.assertHeld();
    await watch(() => applyMigration(connection, migration, { target, lockTries }));
  }
  await lock.assertHeld();
  await watch(() => secureSchema(connection, tenantId, options));
  return pending.map(({ id }) => id);
}

async function secureSchema(connection: SqlConnection, tenantId: string, options: DedicatedOptions): Promise<void> {
  await resetSession(connection, "''");
  const { name } = dedicatedTarget(options.rolePrefix, tenantId);
  const work = (await dedicatedWork(connection, options)).find(({ target }) => target === name);
  for (const object of work?.insecure ?? []) {
    const text = securingStatement(object, tenantId, options.rolePrefix);
    await withLockRetries(options.lockTries, () => inTransaction(connection, [text]));
  }
}

function securingStatement({ kind, name }: DedicatedWork["insecure"][number], tenantId: string, rolePrefix: string) {
  const role = tenantRoleName(rolePrefix, tenantId);
  if (kind === "schema") return `revoke all on schema ${name} from public; grant usage on schema ${name} to ${role}`;
  if (kind === "sequence") {
    return `revoke all on sequence ${name} from public, ${roleName(rolePrefix, "app")}; grant usage on sequence ${name} to ${role}`;
  }
  // Functions as replacements: in a string "$&" and the like, which a quoted name may contain, have a meaning.
  return withRolePrefix(sql["policies/dedicated_table.sql"], rolePrefix)
    .replaceAll("{{table}}", () => name)
    .replaceAll("{{tenant}}", tenantId)
    .replaceAll("{{role}}", role);
}
