import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { Logger } from "pino";
import type { Database, TenantTransaction } from "../database/types.ts";
import { JobInterrupted, JobLeaseLost, JobTimeout, TenantSuspended } from "../errors.ts";
import type { TenantContext } from "../tenancy/context.ts";
import type { Registry } from "../tenancy/registry.ts";
import type { JobDefinition } from "./define-job.ts";
import type { ClaimedJob } from "./queue-store.ts";

export interface RunDeps {
  readonly database: Database;
  readonly registry: Registry;
  readonly context: TenantContext;
  readonly log: Logger;
}

/**
 * How an attempt has ended.
 * - `finished` with its transaction: nothing is left to do
 * - `done` without a transaction: the worker has to say so
 * - `failed`
 * - `interrupted`: it was not its fault, and no attempt is counted
 * - `lost`: somebody else has it
 */
export type JobOutcome =
  | { readonly kind: "finished" | "done" | "interrupted" | "lost" }
  | { readonly kind: "failed"; readonly thrown: unknown };

/** How long a handler may go on after its signal was aborted, in milliseconds. */
const GRACE_MS = 5_000;

/**
 * Runs one attempt of a job as its tenant, in a transaction that is begun with the handler's first query and in which the job itself
 * ends. Never rejects.
 *
 * @param stop aborted with {@link JobInterrupted} or {@link JobLeaseLost} when the attempt has to end
 */
export async function runJob(
  deps: RunDeps,
  definition: JobDefinition,
  job: ClaimedJob,
  stop: AbortSignal,
): Promise<JobOutcome> {
  const { id, placement, epoch } = { id: job.tenantId, placement: job.placement, epoch: job.epoch };
  const transaction = deps.database.open({ id, placement, epoch });
  const timeout = new AbortController();
  const timer = setTimeout(
    () =>
      timeout.abort(
        new JobTimeout(`Job "${job.type}" took longer than its timeout of ${definition.options.timeout} ms.`),
      ),
    definition.options.timeout,
  );
  const signal = AbortSignal.any([stop, timeout.signal]);
  try {
    signal.throwIfAborted();
    await withGrace(handle(deps, definition, job, transaction, signal), signal);
    return await end(transaction, job);
  } catch (thrown) {
    await transaction.rollback();
    return outcomeOf(thrown, stop);
  } finally {
    clearTimeout(timer);
  }
}

async function handle(
  { registry, context, log }: RunDeps,
  definition: JobDefinition,
  job: ClaimedJob,
  transaction: TenantTransaction,
  signal: AbortSignal,
): Promise<void> {
  const payload = await definition.read(job.payload, job.payloadVersion);
  const tenant = await registry.tenant({ by: "id", id: job.tenantId });
  const attempt = job.attempts + 1;
  const input = {
    payload,
    attempt,
    signal,
    idempotencyKey: job.id,
    tenantId: tenant.id,
    log: log.child({ job: job.id, type: job.type, tenant: tenant.id, attempt }),
    get db() {
      return transaction.db;
    },
  };
  await context.run({ tenant, principal: undefined, transaction }, () => definition.run(input));
}

/** Waits for the handler; once the signal is aborted, for a while only: it cannot be stopped, but it need not be waited for. */
async function withGrace(handling: Promise<void>, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const impatient = new Promise<never>((_, reject) => {
    const onAbort = () => {
      sleep(GRACE_MS, undefined, { signal: settled.signal }).then(
        () => reject(signal.reason as Error),
        () => {},
      );
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true, signal: settled.signal });
  });
  try {
    await Promise.race([handling, impatient]);
  } finally {
    settled.abort();
    handling.catch(() => {});
  }
}

async function end(transaction: TenantTransaction, job: ClaimedJob): Promise<JobOutcome> {
  if (transaction.queryCount === 0) {
    await transaction.commit();
    return { kind: "done" };
  }
  const attempt = job.attempts + 1;
  await transaction.db.execute(sql`select rowhouse.finish_job(${job.id}, ${job.lease}, ${attempt})`);
  await transaction.commit();
  return { kind: "finished" };
}

function outcomeOf(thrown: unknown, stop: AbortSignal): JobOutcome {
  if (thrown instanceof JobLeaseLost || stop.reason instanceof JobLeaseLost) return { kind: "lost" };
  // Whatever the handler made of it: it was told to stop.
  if (stop.reason instanceof JobInterrupted) return { kind: "interrupted" };
  if (thrown instanceof TenantSuspended) return { kind: "interrupted" };
  return { kind: "failed", thrown };
}
