import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connectSql, type SqlConnection } from "../database/sql-connection.ts";
import { MigrationLocked } from "../errors.ts";
import { sql } from "../generated/sql.ts";

/** The two-number form keeps clear of the tenants' locks, which are one number each. Advisory locks are per database. */
const LOCK_CLASS = 7236;

/** Number 1 is the shared schema's, and whoever meets a dedicated schema's number by chance only waits for it. */
const lockOf = (target: string): number[] => [
  LOCK_CLASS,
  target === "shared" ? 1 : createHash("sha256").update(target).digest().readInt32BE(),
];

export interface MigrationLock extends AsyncDisposable {
  /**
   * Checks that the lock is still held: its connection may have died, and another runner begun.
   * @throws MigrationLocked
   */
  assertHeld(): Promise<void>;
  /** The lock's connection, idle but for this: to look at what the other one waits for. */
  readonly connection: SqlConnection;
}

export interface LockOptions {
  /** What is locked: `shared`, the name of a dedicated schema, or another name for work of its own. @defaultValue `shared` */
  readonly target?: string;
  /** Keep out those only who want the target for themselves alone. @defaultValue false */
  readonly isShared?: boolean;
}

/**
 * Takes the lock that lets one runner migrate a target at a time. It belongs to a connection of its own, so that the
 * server releases it when the process dies, and it is polled for: a session that waits inside pg_advisory_lock() holds
 * a snapshot, and CREATE INDEX CONCURRENTLY would wait for it forever.
 *
 * @param wait how long to try, in milliseconds
 * @throws MigrationLocked after that
 */
export async function takeMigrationLock(
  ownerUrl: string,
  wait: number,
  { target = "shared", isShared = false }: LockOptions = {},
): Promise<MigrationLock> {
  const key = lockOf(target);
  const attempt = isShared ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock";
  const connection = await connectSql(ownerUrl, "rowhouse migrate (lock)");
  try {
    // An idle connection is what this is: nothing may end it for that.
    await connection.query("set idle_session_timeout = 0");
    const deadline = performance.now() + wait;
    const tryLock = async () =>
      (await connection.query<{ taken: boolean }>(`select ${attempt}($1, $2) as taken`, key)).rows[0]!.taken;
    while (!(await tryLock())) {
      if (performance.now() >= deadline) throw new MigrationLocked(await lockedMessage(connection, key, wait));
      await sleep(50 + Math.random() * 100);
    }
  } catch (error) {
    await connection.end();
    throw error;
  }
  return {
    connection,
    async assertHeld() {
      const holder = await lockHolder(connection, key).catch(() => undefined);
      if (holder?.held) return;
      throw new MigrationLocked(
        "The lock was lost that keeps other runners out: its connection ended, or OWNER_DATABASE_URL goes through a transaction " +
          "pooler. Use a direct URL and run the command again: what was applied stays applied.",
      );
    },
    [Symbol.asyncDispose]: () => connection.end(),
  };
}

interface LockHolder {
  pid: number;
  /** By this connection. */
  held: boolean;
  address: string | null;
}

async function lockHolder(connection: SqlConnection, key: readonly number[]): Promise<LockHolder | undefined> {
  const { rows } = await connection.query<LockHolder>(sql["db/queries/migration_lock_holder.sql"], key);
  return rows[0];
}

async function lockedMessage(connection: SqlConnection, key: readonly number[], wait: number): Promise<string> {
  const holder = await lockHolder(connection, key);
  const who = holder ? `the one of server process ${holder.pid}, from ${holder.address ?? "this machine"}` : "another";
  return (
    `Another runner is migrating this database, or moving a tenant (${who}), and was not done within ${wait / 1000} s. ` +
    "Wait for it and run again; if it hangs, end it: its lock goes with its connection."
  );
}
