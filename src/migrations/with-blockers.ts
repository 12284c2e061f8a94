import { setTimeout as sleep } from "node:timers/promises";
import type { SqlConnection } from "../database/sql-connection.ts";
import { MigrationFailed } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { DDL_LOCK_TIMEOUT, isLockFailure } from "./ddl-session.ts";

/**
 * Runs `work`, and when it fails for a lock, says who held it.
 *
 * @param observer a connection that nothing else uses meanwhile
 * @param pid the server process of the connection that `work` uses
 */
export async function withBlockers<Result>(
  observer: SqlConnection,
  pid: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const stop = observeBlockers(observer, pid);
  try {
    return await work();
  } catch (error) {
    const blockers = await stop();
    if (!isLockFailure(error) || blockers.length === 0) throw error;
    throw new MigrationFailed(
      `${(error as Error).message}\nThe lock was held by ${blockers.join(", ")}. Wait until it is done, or end it with ` +
        "pg_terminate_backend() as a role that may.",
      { cause: error },
    );
  } finally {
    await stop();
  }
}

function observeBlockers(observer: SqlConnection, pid: number): () => Promise<string[]> {
  const stop = new AbortController();
  let seen: string[] = [];
  const watch = async () => {
    for (;;) {
      // Half the timeout: whoever is in the way for long enough to matter is seen at least once.
      await sleep(DDL_LOCK_TIMEOUT / 2, undefined, { signal: stop.signal });
      const { rows } = await observer.query<{ who: string }>(sql["db/queries/blockers.sql"], [pid]);
      if (rows.length > 0) seen = rows.map((row) => row.who);
    }
  };
  // It ends by the abort, or by a lost connection, which whoever uses it next reports.
  const watching = watch().catch(() => {});
  return async () => {
    stop.abort();
    await watching;
    return seen;
  };
}
