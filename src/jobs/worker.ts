import { setTimeout as sleep } from "node:timers/promises";
import type { SqlConnection } from "../database/sql-connection.ts";
import { DefinitionInvalid, JobInterrupted, JobLeaseLost, WorkerLost } from "../errors.ts";
import { backoffDelay } from "./backoff.ts";
import type { JobDefinition } from "./define-job.ts";
import { createHeldJobs } from "./held-jobs.ts";
import { createJobBuffer } from "./job-buffer.ts";
import type { Lane } from "./lanes.ts";
import { createLookOut, type LookOut } from "./look-out.ts";
import { type ClaimedJob, createQueueStore, type QueueStore } from "./queue-store.ts";
import { createRate } from "./rate.ts";
import { createReporter } from "./reporter.ts";
import { JobRun, type RunDeps } from "./run-job.ts";
import { createWakeUp } from "./wake-up.ts";

export interface WorkerOptions extends RunDeps {
  /** A connection as the worker role, for looking and claiming. */
  readonly claiming: SqlConnection;
  /** Another one, for what must not wait behind that: signs of life, and the ends of jobs. */
  readonly reporting: SqlConnection;
  readonly jobs: readonly JobDefinition[];
  /** @defaultValue every queue */
  readonly queues?: readonly string[] | undefined;
  /** Handlers at work at the same time. @defaultValue 10 */
  readonly concurrency?: number;
  /** What people see of it. */
  readonly name: string;
  /** After how long without a sign of life a worker is taken for dead, in milliseconds. @defaultValue 10,000 */
  readonly ttl?: number;
}

export interface Worker {
  /** Tells it that there may be work. */
  wake(): void;
  /**
   * Claims nothing more, waits for the handlers at work, and interrupts those that are not done in time: their jobs run again, without an attempt
   * being counted. What was claimed and not begun is given back.
   * @param deadline milliseconds. @defaultValue 25,000
   */
  stop(deadline?: number): Promise<void>;
}

/** Jobs that are claimed ahead, at the most: about a tenth of a second's worth. */
const MAX_AHEAD = 2_000;
const AHEAD_SECONDS = 0.1;
const CONCURRENCY = 10;
const STOP_DEADLINE_MS = 25_000;
/** How often it is looked whether something has taken too long, in milliseconds. */
const CHECK_MS = 50;

/**
 * Starts a worker: it looks for work, claims some of every tenant's in turn, and runs it.
 * @throws DefinitionInvalid when two jobs have the same name
 */
export function startWorker(options: WorkerOptions): Worker {
  const { name, ttl = 10_000, log } = options;
  const definitions = byName(options.jobs);
  const claims = createQueueStore(options.claiming);
  const reports = createQueueStore(options.reporting);
  const wakeUp = createWakeUp();
  let id: string | undefined;
  let isStopping = false;
  /** True while a claim is under way, and after one whose answer never came: it may have taken something. */
  let isClaimInDoubt = false;
  /** Set when there may be work that nobody has looked for. */
  let isNew = false;
  const hands = createHands(
    options,
    definitions,
    reports,
    () => id,
    wakeUp.wake,
    () => lookOut?.expectWaiting(),
  );
  let lookOut: LookOut | undefined;

  const isServed = ({ queue, type }: Lane) =>
    definitions.has(type) && (options.queues === undefined || options.queues.includes(queue));

  async function ensureRegistered(): Promise<{ worker: string; lookOut: LookOut }> {
    if (id === undefined || lookOut === undefined) {
      lookOut = createLookOut(claims, isServed);
      id = await reports.register(name, ttl);
    }
    return { worker: id, lookOut };
  }

  /** Everything that was held is others' now. */
  function lose(): void {
    if (id === undefined) return;
    log.error({ worker: id }, "the worker was taken for dead; it begins anew");
    id = undefined;
    hands.drop();
    wakeUp.wake();
  }

  async function beat(): Promise<void> {
    const worker = id;
    if (worker !== undefined && !(await reports.heartbeat(worker, ttl)) && id === worker) lose();
  }

  async function claim(worker: string, { lanes }: LookOut): Promise<boolean> {
    // With a tenant for every place, a newcomer's turn would not come any sooner.
    const newcomers = Math.max(0, (options.concurrency ?? CONCURRENCY) - hands.held.size);
    const quotas = lanes.take(hands.room(), hands.held, newcomers);
    if (quotas.length === 0) return false;
    isClaimInDoubt = true;
    const { found, jobs } = await claims.claim(worker, quotas);
    isClaimInDoubt = false;
    quotas.forEach((quota, index) => lanes.found(quota, found[index]!.count, found[index]!.last));
    // Lost meanwhile: what was claimed goes with the rest.
    if (id === worker) hands.take(jobs);
    return jobs.length > 0;
  }

  async function settleClaims(worker: string): Promise<void> {
    await claims.releaseUnknown(worker, hands.leases());
    isClaimInDoubt = false;
  }

  async function loop(): Promise<void> {
    for (let failures = 0; !isStopping;) {
      try {
        const { worker, lookOut: look } = await ensureRegistered();
        if (isClaimInDoubt) await settleClaims(worker);
        wakeUp.take();
        const wasNew = isNew;
        isNew = false;
        await look.look(wasNew);
        if (!(await claim(worker, look))) await wakeUp.wait(look.due - performance.now());
        failures = 0;
      } catch (error) {
        if (error instanceof WorkerLost) lose();
        else log.error({ err: error }, "the worker cannot reach its queue; it tries again");
        failures += 1;
        await wakeUp.wait(backoffDelay(failures, { first: 100, max: 5_000 }));
      }
    }
  }

  const heartbeat = every(ttl / 3, beat, log);
  const rescue = every(ttl / 2, async () => void (await reports.rescue()), log);
  const looping = loop();

  async function stop(deadline = STOP_DEADLINE_MS): Promise<void> {
    isStopping = true;
    wakeUp.wake();
    await looping;
    await hands.stop(deadline);
    heartbeat.stop();
    rescue.stop();
    if (id !== undefined)
      await reports.retire(id).catch((error: unknown) => log.error({ err: error }, "the worker could not sign off"));
  }

  return {
    wake() {
      isNew = true;
      wakeUp.wake();
    },
    stop,
  };
}

/** What runs the jobs that were claimed. */
function createHands(
  options: WorkerOptions,
  definitions: ReadonlyMap<string, JobDefinition>,
  store: QueueStore,
  current: () => string | undefined,
  onRoom: () => void,
  onWaiting: () => void,
) {
  const { concurrency = CONCURRENCY, log } = options;
  const buffer = createJobBuffer();
  const held = createHeldJobs();
  const running = new Map<JobRun, Promise<void>>();
  const rate = createRate();
  const reporter = createReporter({ store, held, log, current, onWaiting });
  let isStopping = false;

  function fillPlaces(): void {
    while (running.size < concurrency && !isStopping) {
      const job = buffer.shift();
      if (!job) return;
      begin(job);
    }
  }

  function begin(job: ClaimedJob): void {
    const worker = current()!;
    const definition = definitions.get(job.type)!;
    const run = new JobRun(options, definition, job);
    const ended = run.run().then((outcome) => {
      running.delete(run);
      rate.count();
      fillPlaces();
      if (buffer.size === 0) onRoom();
      return reporter.settle(worker, definition, job, outcome);
    });
    running.set(run, ended);
  }

  const checking = setInterval(() => {
    const now = performance.now();
    for (const run of running.keys()) run.check(now);
  }, CHECK_MS);

  return {
    held: held.byTenant,
    leases: () => held.leases(),
    /** How many more jobs to claim: 0 until there is room for a good number. */
    room(): number {
      const target = Math.floor(Math.max(concurrency, Math.min(MAX_AHEAD, rate.perSecond * AHEAD_SECONDS)));
      const room = target - buffer.size;
      return buffer.size > 0 && room < target / 2 ? 0 : room;
    },
    take(jobs: readonly ClaimedJob[]): void {
      for (const job of jobs) {
        held.add(job);
        buffer.push(job);
      }
      fillPlaces();
    },
    /** Lets go of everything, without a word to the queue. */
    drop(): void {
      buffer.drain();
      held.clear();
      reporter.clear();
      for (const run of running.keys()) run.abort(new JobLeaseLost("The worker was taken for dead."));
    },
    async stop(deadline: number): Promise<void> {
      isStopping = true;
      const worker = current();
      const unbegun = buffer.drain();
      if (worker !== undefined) {
        await reporter
          .release(worker, unbegun)
          .catch((error: unknown) => log.error({ err: error }, "jobs could not be given back"));
      }
      const patience = new AbortController();
      const all = Promise.all(running.values());
      await Promise.race([all, sleep(deadline, undefined, { signal: patience.signal }).catch(() => {})]);
      patience.abort();
      for (const run of running.keys()) run.abort(new JobInterrupted("The worker stops."));
      await all;
      clearInterval(checking);
      await reporter.idle();
    },
  };
}

function byName(jobs: readonly JobDefinition[]): ReadonlyMap<string, JobDefinition> {
  const names = jobs.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new DefinitionInvalid(`Two jobs have the name "${twice}".`);
  return new Map(jobs.map((job) => [job.name, job]));
}

/** Does something again and again, one after another, whatever becomes of it. */
function every(interval: number, work: () => Promise<void>, log: RunDeps["log"]): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const again = () => {
    if (isStopped) return;
    timer = setTimeout(() => {
      void work()
        .catch((error: unknown) => log.error({ err: error }, "the worker cannot reach its queue"))
        .finally(again);
    }, interval);
  };
  again();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
