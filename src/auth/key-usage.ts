import { sql } from "drizzle-orm";
import type { Database, TenantRef } from "../database/types.ts";

/** Keeps `last_used_at` of API keys, outside of requests: most of those are READ ONLY, and none should wait for it. */
export interface KeyUsage {
  /** Notes that a key was used. Sends nothing. */
  record(tenant: TenantRef, keyId: string): void;
  /** Writes what was noted since the last time. Never throws. */
  flush(): Promise<void>;
  /** Writes what is left. Call it before the database is closed. */
  close(): Promise<void>;
}

interface TenantUsage {
  readonly tenant: TenantRef;
  readonly keyIds: Set<string>;
}

/** So `last_used_at` is right to the minute, and a busy key costs one write a minute in each process. */
const FLUSH_INTERVAL_MS = 60_000;

/**
 * Collects which API keys were used, and writes the time of it (the database's) once a minute, one tenant after another.
 * What cannot be written is lost: the next use of the key is noted again.
 *
 * @param onError told of what could not be written
 */
export function createKeyUsage(database: Database, onError: (error: unknown) => void): KeyUsage {
  let used = new Map<string, TenantUsage>();
  let timer: NodeJS.Timeout | undefined;

  let written = Promise.resolve();

  async function writeAll(batch: Iterable<TenantUsage>): Promise<void> {
    for (const usage of batch) await write(database, usage).catch(onError);
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = used;
    used = new Map();
    written = written.then(() => writeAll(batch.values()));
    return written;
  }

  return {
    record(tenant, keyId) {
      const usage = used.get(tenant.id) ?? { tenant, keyIds: new Set<string>() };
      used.set(tenant.id, usage);
      usage.keyIds.add(keyId);
      // unref: a process that has nothing else to do may end.
      timer ??= setTimeout(() => void flush(), FLUSH_INTERVAL_MS).unref();
    },
    flush,
    close: flush,
  };
}

async function write(database: Database, { tenant, keyIds }: TenantUsage): Promise<void> {
  const transaction = database.open(tenant);
  try {
    await transaction.db.execute(
      sql`update rowhouse.api_keys set last_used_at = now() where id = any(${sql.param([...keyIds])}::uuid[])`,
    );
    await transaction.commit();
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}
