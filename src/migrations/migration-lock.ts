import { setTimeout as sleep } from "node:timers/promises";
import { connectSql, type SqlConnection } from "../database/sql-connection.ts";
import { MigrationLocked } from "../errors.ts";

/** The two-number form keeps clear of the tenants' locks, which are one number each. Advisory locks are per database. */
const LOCK = "7236, 1";

export interface MigrationLock extends AsyncDisposable {
  /**
   * Checks that the lock is still held: its connection may have died, and another runner begun.
   * @throws MigrationLocked
   */
  assertHeld(): Promise<void>;
  /** The lock's connection, idle but for this: to look at what the other one waits for. */
  readonly connection: SqlConnection;
}

/**
 * Takes the lock that lets one runner migrate a database at a time. It belongs to a connection of its own, so that the
 * server releases it when the process dies, and it is polled for: a session that waits inside pg_advisory_lock() holds
 * a snapshot, and CREATE INDEX CONCURRENTLY would wait for it forever.
 *
 * @param wait how long to try, in milliseconds
 * @throws MigrationLocked after that
 */
export async function takeMigrationLock(ownerUrl: string, wait: number): Promise<MigrationLock> {
  const connection = await connectSql(ownerUrl, "rowhouse migrate (lock)");
  try {
    // An idle connection is what this is: nothing may end it for that.
    await connection.query("set idle_session_timeout = 0");
    const deadline = performance.now() + wait;
    const tryLock = async () =>
      (await connection.query<{ taken: boolean }>(`select pg_try_advisory_lock(${LOCK}) as taken`)).rows[0]!.taken;
    while (!(await tryLock())) {
      if (performance.now() >= deadline) throw new MigrationLocked(await lockedMessage(connection.query, wait));
      await sleep(50 + Math.random() * 100);
    }
  } catch (error) {
    await connection.end();
    throw error;
  }
  return {
    connection,
    async assertHeld() {
      const { rows } = await connection.query<{ held: boolean }>(HOLDER_QUERY).catch(() => ({ rows: [] }));
      if (rows.some((row) => row.held)) return;
      throw new MigrationLocked(
        "The migration lock was lost: its connection ended, or OWNER_DATABASE_URL goes through a transaction pooler. " +
          "Use a direct URL and run `rowhouse migrate` again: what was applied stays applied.",
      );
    },
    [Symbol.asyncDispose]: connection.end,
  };
}

const HOLDER_QUERY = `
  select l.pid, l.pid = pg_backend_pid() as held, a.client_addr::text as address
  from pg_locks l left join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.database = (select oid from pg_database where datname = current_database())
    and (l.classid, l.objid, l.objsubid) = (${LOCK}, 2)`;

async function lockedMessage(query: (text: string) => Promise<{ rows: object[] }>, wait: number): Promise<string> {
  const { rows } = await query(HOLDER_QUERY);
  const holder = rows[0] as { pid: number; address: string | null } | undefined;
  const who = holder ? `the one of server process ${holder.pid}, from ${holder.address ?? "this machine"}` : "another";
  return (
    `Another runner is migrating this database (${who}) and was not done within ${wait / 1000} s. ` +
    "Wait for it and run again; if it hangs, end it: its lock goes with its connection."
  );
}
