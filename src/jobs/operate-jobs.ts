import type { SqlConnection } from "../database/sql-connection.ts";
import { JobInvalid, ResourceNotFound } from "../errors.ts";
import { sql, type SqlPath } from "../generated/sql.ts";

/** Which jobs are meant; what is left out means any. */
export interface JobFilter {
  /** The tenant's UUID. */
  readonly tenantId?: string | undefined;
  readonly queue?: string | undefined;
  readonly type?: string | undefined;
}

export type JobState = "ready" | "waiting" | "running" | "dead";

/** A queue's jobs of one type. Times are in seconds, and null where there is nothing to tell. */
export interface JobStats {
  readonly queue: string;
  readonly type: string;
  readonly ready: number;
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  /** The age of the oldest ready job. */
  readonly oldestReady: number | null;
  readonly doneLastHour: number;
  readonly p95Run: number | null;
  readonly p95Wait: number | null;
}

export interface ListedJob {
  readonly id: string;
  /** The tenant's slug; null when there is no such tenant any more. */
  readonly tenant: string | null;
  readonly queue: string;
  readonly type: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly runAt: Date;
  readonly createdAt: Date;
  /** The last failure's message. */
  readonly failure: string | null;
}

/** All that is known of a job. Of one that has ended the payload is not kept. */
export interface JobDetails {
  readonly id: string;
  readonly tenantId: string;
  readonly queue: string;
  readonly type: string;
  readonly state: JobState | "done" | "cancelled" | "discarded";
  readonly attempts: number;
  readonly payload: unknown;
  readonly failures: readonly {
    readonly attempt: number;
    readonly at: string;
    readonly message: string;
    readonly stack?: string;
  }[];
  readonly createdAt: Date;
  readonly runAt: Date | null;
  readonly endedAt: Date | null;
}

/** What is to hold for the jobs meant. What is left out stays as it is; null lifts a limit. */
export interface JobControl {
  readonly isPaused?: boolean;
  /** How many may run at the same time, over all workers. */
  readonly maxRunning?: number | null;
  /** The same for each tenant. */
  readonly maxRunningPerTenant?: number | null;
  /** How many turns the tenant gets for another's one, 1 to 100; for a tenant alone. */
  readonly weight?: number | null;
}

async function ask<Row extends object>(
  owner: SqlConnection,
  path: SqlPath,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return (await owner.query<Row>(sql[path], values)).rows;
}

const meant = ({ tenantId, queue, type }: JobFilter) => [tenantId ?? null, queue ?? null, type ?? null];

/** How the queue is, by queue and type. @param owner a connection as the owner role, as in all of these */
export const jobStats = (owner: SqlConnection): Promise<JobStats[]> => ask(owner, "db/queries/job_stats.sql");

/** Jobs that have not ended, and dead ones, the oldest first. @param limit how many at the most */
export function listJobs(
  owner: SqlConnection,
  filter: JobFilter & { readonly state?: JobState | undefined },
  limit = 100,
): Promise<ListedJob[]> {
  return ask(owner, "db/queries/list_jobs.sql", [...meant(filter), filter.state ?? null, limit]);
}

/** @throws ResourceNotFound when there is no such job */
export async function showJob(owner: SqlConnection, id: string): Promise<JobDetails> {
  const [job] = await ask<JobDetails>(owner, "db/queries/show_job.sql", [id]);
  if (job) return job;
  throw new ResourceNotFound(
    `There is no job ${id}, nor does the history know of one. \`rowhouse jobs list\` shows those there are.`,
  );
}

/** Which dead jobs are meant: these, or all that fit. */
export type DeadJobs = { readonly ids: readonly string[] } | JobFilter;

async function onDead(owner: SqlConnection, path: SqlPath, which: DeadJobs): Promise<string[]> {
  const values = "ids" in which ? [which.ids, ...meant({})] : [null, ...meant(which)];
  return (await ask<{ id: string }>(owner, path, values)).map(({ id }) => id);
}

/** Brings dead jobs back, with all their attempts before them. @returns their ids; one whose unique key is taken stays dead */
export const retryDeadJobs = (owner: SqlConnection, which: DeadJobs): Promise<string[]> =>
  onDead(owner, "db/queries/retry_dead_jobs.sql", which);

/** Removes dead jobs for good. @returns their ids */
export const discardDeadJobs = (owner: SqlConnection, which: DeadJobs): Promise<string[]> =>
  onDead(owner, "db/queries/discard_dead_jobs.sql", which);

/** Cancels jobs that have not ended; one that runs is rolled back. @returns their ids */
export async function cancelJobs(owner: SqlConnection, ids: readonly string[]): Promise<string[]> {
  return (await ask<{ id: string }>(owner, "db/queries/cancel_jobs.sql", [ids])).map(({ id }) => id);
}

/**
 * Lays down a pause, limits or a weight, for what is claimed from now on. Workers notice within seconds.
 * @throws JobInvalid when a number is out of its range, or a weight is not for a tenant alone
 */
export async function controlJobs(owner: SqlConnection, filter: JobFilter, control: JobControl): Promise<void> {
  const { isPaused, maxRunning, maxRunningPerTenant, weight } = control;
  for (const [name, value, least] of [
    ["maxRunning", maxRunning, 0],
    ["maxRunningPerTenant", maxRunningPerTenant, 0],
    ["weight", weight, 1],
  ] as const) {
    if (value == null || (Number.isInteger(value) && value >= least && value <= (name === "weight" ? 100 : 1e6)))
      continue;
    throw new JobInvalid(
      `${name} is ${value}: it must be a whole number from ${least} to ${name === "weight" ? 100 : 1e6}.`,
    );
  }
  if (weight != null && (filter.tenantId === undefined || filter.queue !== undefined || filter.type !== undefined)) {
    throw new JobInvalid("A weight is for a tenant alone: give the tenant, and neither queue nor type.");
  }
  const lifted = (value: number | null | undefined) => (value === null ? -1 : (value ?? null));
  await ask(owner, "db/queries/set_job_control.sql", [
    ...[filter.queue ?? null, filter.tenantId ?? null, filter.type ?? null, isPaused ?? null],
    ...[lifted(maxRunning), lifted(maxRunningPerTenant), lifted(weight)],
  ]);
}
