import { setTimeout as sleep } from "node:timers/promises";
import { serverErrorOf } from "../database/server-error.ts";
import type { SqlConnection } from "../database/sql-connection.ts";

/**
 * How long a statement may wait for a lock, in milliseconds. Short, since whoever comes after it waits too, even for a
 * plain SELECT; so many short tries instead.
 */
export const DDL_LOCK_TIMEOUT = 1_000;

/** How often work is tried that waits {@link DDL_LOCK_TIMEOUT} for a lock: together about a minute and a half. */
export const DDL_LOCK_TRIES = 40;

export const MIGRATION_SEARCH_PATH = "public, extensions, pg_temp";

/**
 * Gives the connection the settings that every migration starts from, whatever the one before has left behind.
 * UTC: under another time zone `timestamp` to `timestamptz` would rewrite the table.
 */
export async function resetSession(connection: SqlConnection, searchPath = MIGRATION_SEARCH_PATH): Promise<void> {
  await connection.query("discard all");
  await connection.query(`
    set lock_timeout = ${DDL_LOCK_TIMEOUT};
    set statement_timeout = 0;
    set idle_in_transaction_session_timeout = 0;
    set search_path = ${searchPath};
    set timezone = 'UTC';
    set client_min_messages = warning;
    set row_security = on`);
  // A statement whose runner was killed would go on, and hold its locks, to its end. Not every platform can tell.
  await connection.query("set client_connection_check_interval = 2000").catch(() => {});
}

/** Runs `work` again, from its start, while it fails for a lock that was not granted or a deadlock. */
export async function withLockRetries<Result>(tries: number, work: () => Promise<Result>): Promise<Result> {
  for (let count = 1; ; count++) {
    try {
      return await work();
    } catch (error) {
      if (count >= tries || !isLockFailure(error)) throw error;
      await sleep(50 + Math.random() * Math.min(100 * count, 1_500));
    }
  }
}

/** True when PostgreSQL's answer, inside the error or its causes, is about a lock: 55P03 or a deadlock. */
export function isLockFailure(error: unknown): boolean {
  const code = serverErrorOf(error)?.code;
  return code === "55P03" || code === "40P01";
}
