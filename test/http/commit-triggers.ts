import { expect } from "vitest";
import type { SqlConnection } from "../../src/database/sql-connection.ts";
import type { TestDatabase } from "../helpers/database.ts";

const GATE = 4711;

/** Makes COMMIT do as a note's text says: `refuse` fails it, `wait` keeps it waiting while {@link holdCommits} says so. */
export async function addCommitTriggers(server: TestDatabase): Promise<void> {
  await server.asOwner(`
    create function public.tg_notes__at_commit() returns trigger language plpgsql volatile as $$
    begin
      if new.body like 'refuse%' then
        raise exception 'refused at commit' using errcode = 'check_violation';
      elsif new.body like 'wait%' then
        perform pg_catalog.pg_advisory_xact_lock_shared(${GATE});
      end if;
      return null;
    end $$;
    create constraint trigger _500_at_commit after insert on public.notes
      deferrable initially deferred for each row execute function public.tg_notes__at_commit();
  `);
}

/** Keeps every COMMIT of a `wait` note waiting until release() is called. */
export async function holdCommits(server: TestDatabase) {
  const connection: SqlConnection = await server.connectAsOwner();
  await connection.query(`select pg_catalog.pg_advisory_lock(${GATE})`);
  const waiting = async (): Promise<number[]> => {
    const { rows } = await server.asAdmin<{ pid: number }>(
      `select l.pid from pg_catalog.pg_locks l join pg_catalog.pg_database d on d.oid = l.database
       where d.datname = $1 and l.locktype = 'advisory' and l.objid = ${GATE} and not l.granted`,
      [server.name],
    );
    return rows.map((row) => row.pid);
  };
  return {
    /** Resolves with the backends whose COMMIT waits, once there are any. */
    async untilOneWaits(): Promise<number[]> {
      let pids: number[] = [];
      await expect.poll(async () => (pids = await waiting())).not.toEqual([]);
      return pids;
    },
    release: () => connection.end(),
  };
}
