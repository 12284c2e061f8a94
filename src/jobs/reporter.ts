import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoffDelay } from "./backoff.ts";
import type { JobDefinition } from "./define-job.ts";
import { failureOf } from "./failure.ts";
import type { HeldJobs } from "./held-jobs.ts";
import type { ClaimedJob, QueueStore } from "./queue-store.ts";
import type { JobOutcome } from "./run-job.ts";

/** Jobs whose ends are told in one statement. */
const BATCH = 1_000;

/** How long leases of which nothing is left wait for each other, in milliseconds. */
const CLOSING_MS = 100;

export interface ReporterDeps {
  readonly store: QueueStore;
  readonly held: HeldJobs;
  readonly log: Logger;
  /** The worker's id, while it is not taken for dead: what an earlier one did is others' now. */
  readonly current: () => string | undefined;
  /** Told that a job waits for its next attempt. */
  readonly onWaiting: () => void;
}

/** Tells the queue how jobs have ended. */
export interface Reporter {
  /** @param worker who ran it */
  settle(worker: string, definition: JobDefinition, job: ClaimedJob, outcome: JobOutcome): Promise<void>;
  /** Gives jobs back that were claimed and not begun. */
  release(worker: string, jobs: readonly ClaimedJob[]): Promise<void>;
  /** Resolves when all that has ended is told. */
  idle(): Promise<void>;
  /** Forgets what is not told yet: it is others' now. */
  clear(): void;
}

export function createReporter({ store, held, log, current, onWaiting }: ReporterDeps): Reporter {
  let done: ClaimedJob[] = [];
  let telling: Promise<void> | undefined;
  let closing: NodeJS.Timeout | undefined;

  /** A lease of which nothing is left is no matter of urgency: the next batch of ends takes it along, or it goes with others. */
  function tellSoon(): void {
    closing ??= setTimeout(() => {
      closing = undefined;
      tell();
    }, CLOSING_MS);
  }

  /** In batches: one statement is under way, and the next takes what has gathered meanwhile. */
  function tell(): void {
    telling ??= tellAll().finally(() => (telling = undefined));
  }

  async function tellAll(): Promise<void> {
    for (let worker = current(); worker !== undefined; worker = current()) {
      const batch = done.slice(0, BATCH);
      for (const job of batch) held.remove(job);
      const closed = held.takeClosed();
      if (batch.length === 0 && closed.length === 0) return;
      done = done.slice(batch.length);
      await tellBatch(worker, batch, closed);
    }
  }

  /** What was told already is not found the second time. */
  async function tellBatch(worker: string, batch: readonly ClaimedJob[], closed: readonly string[]): Promise<void> {
    await insist(worker, async () => void (await store.complete(worker, batch, closed)));
  }

  /** Again and again, until it succeeds or the worker is taken for dead: a job must not stay claimed by a worker that lives on. */
  async function insist(worker: string, work: () => Promise<void>): Promise<void> {
    for (let tries = 1; current() === worker; tries += 1) {
      try {
        await work();
        return;
      } catch (error) {
        log.error({ err: error, tries }, "the end of a job could not be told; it is tried again");
        await sleep(backoffDelay(tries, { first: 100, max: 2_000 }));
      }
    }
  }

  async function fail(worker: string, definition: JobDefinition, job: ClaimedJob, thrown: unknown): Promise<void> {
    const failure = failureOf(thrown);
    const delay = backoffDelay(job.attempts + 1, definition.options.backoff);
    const became = await store.fail(worker, job, failure, delay, false);
    const { id, type, tenantId } = job;
    log.warn({ job: id, type, tenant: tenantId, became, failure: failure.message }, "a job failed");
    if (became === "waiting") onWaiting();
  }

  return {
    async settle(worker, definition, job, outcome) {
      if (worker !== current()) return;
      if (outcome.kind === "done") {
        done.push(job);
        tell();
        return;
      }
      if (outcome.kind === "failed") await insist(worker, () => fail(worker, definition, job, outcome.thrown));
      if (outcome.kind === "interrupted") await insist(worker, () => store.release(worker, [job]));
      held.remove(job);
      tellSoon();
    },
    async release(worker, jobs) {
      await store.release(worker, jobs);
      for (const job of jobs) held.remove(job);
      tell();
    },
    async idle() {
      clearTimeout(closing);
      await telling;
      tell();
      await telling;
    },
    clear() {
      done = [];
    },
  };
}
