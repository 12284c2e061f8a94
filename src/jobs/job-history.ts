import type { SqlConnection } from "../database/sql-connection.ts";
import { JobInvalid, LockTimeout } from "../errors.ts";
import { sql } from "../generated/sql.ts";

export interface HistoryOptions {
  /** How many whole days are kept. @defaultValue 14 */
  readonly keepDays?: number;
  /** For how many days to come there are to be partitions. @defaultValue 14 */
  readonly aheadDays?: number;
}

export interface HistoryReport {
  readonly made: readonly string[];
  readonly dropped: readonly string[];
  /** Rows that were removed one by one: they had no day's partition. */
  readonly deleted: number;
}

/**
 * How long to wait for the history's lock, in milliseconds. Every job that ends needs it meanwhile, so it is short, and tried again.
 */
const LOCK_TIMEOUT = 100;
const LOCK_TRIES = 100;

/**
 * Makes the partitions of the job history for the days to come, and drops those that are older than is to be kept: dropping a day costs nothing, where deleting
 * it would leave its rows behind to be cleaned away. Days are UTC's, by the database's clock. May be run at any time and as often as one likes.
 *
 * @param owner a connection as the owner role, outside any transaction
 * @throws JobInvalid when a number of days is out of its range
 */
export async function maintainJobHistory(
  owner: SqlConnection,
  { keepDays = 14, aheadDays = 14 }: HistoryOptions = {},
): Promise<HistoryReport> {
  for (const [name, value] of Object.entries({ keepDays, aheadDays })) {
    if (!Number.isInteger(value) || value < 1 || value > 3_650) {
      throw new JobInvalid(`${name} is ${value}: it must be a whole number of days from 1 to 3650.`);
    }
  }
  await owner.query(`set lock_timeout = ${LOCK_TIMEOUT}; set timezone = 'UTC'`);
  const before = await partitions(owner);
  // From tomorrow on: what has ended today without a partition is where it would have to be taken from.
  const { rows } = await owner.query<{ name: string; from: string; to: string }>(
    `select 'job_history_' || pg_catalog.to_char(d, 'YYYYMMDD') as name, d::text as from, (d + interval '1 day')::text as to
     from pg_catalog.generate_series(
       pg_catalog.date_trunc('day', pg_catalog.now()) + interval '1 day', pg_catalog.now() + $1 * interval '1 day', interval '1 day') d`,
    [aheadDays],
  );
  const missing = rows.filter(({ name }) => !before.some((partition) => partition.name === name));
  for (const { name, from, to } of missing) {
    const range = `for values from ('${from}') to ('${to}')`;
    await withTries(owner, `create table if not exists rowhouse.${name} partition of rowhouse.job_history ${range}`);
  }
  const limit = `pg_catalog.date_trunc('day', pg_catalog.now()) - ${keepDays} * interval '1 day'`;
  const {
    rows: [now],
  } = await owner.query<{ limit: Date }>(`select ${limit} as limit`);
  const old = before.filter(({ upTo }) => upTo <= now!.limit);
  for (const { name } of old) await withTries(owner, `drop table rowhouse.${name}`);
  const { rowCount } = await owner.query(`delete from rowhouse.job_history_rest where finished_at < ${limit}`);
  return { made: missing.map(({ name }) => name), dropped: old.map(({ name }) => name), deleted: rowCount };
}

async function partitions(owner: SqlConnection): Promise<{ name: string; upTo: Date }[]> {
  return (await owner.query<{ name: string; upTo: Date }>(sql["db/queries/job_history_partitions.sql"])).rows;
}

async function withTries(owner: SqlConnection, text: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await owner.query(text);
      return;
    } catch (error) {
      if (!(error instanceof LockTimeout) || tries === LOCK_TRIES) throw error;
    }
  }
}
