import { sql } from "drizzle-orm";
import type { Logger } from "pino";
import { z } from "zod";
import type { TenantDb } from "../database/types.ts";
import { DefinitionInvalid, JobInvalid } from "../errors.ts";
import type { Backoff } from "./backoff.ts";
import { decodePayload, encodePayload } from "./payload.ts";

/** Which of a tenant's jobs runs first. Between tenants priorities mean nothing: each gets its turn. */
export type JobPriority = "urgent" | "high" | "normal" | "low";

/** In the order in which they run: their place is what is stored. */
const PRIORITIES: readonly JobPriority[] = ["urgent", "high", "normal", "low"];

/** What a handler gets. */
export interface JobInput<Payload> {
  /** The tenant's transaction, begun with the first query. It commits together with the job's end. */
  readonly db: TenantDb;
  readonly payload: Payload;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the job's time is up, its lease is lost, or the worker has to stop. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this job: for APIs outside that take such a key. */
  readonly idempotencyKey: string;
  readonly tenantId: string;
  readonly log: Logger;
}

export interface JobOptions<Schema extends z.ZodType> {
  /** What the payload has to look like, when it is enqueued and when it is run. */
  readonly payload: Schema;
  /** Raise it when the payload's shape changes. @defaultValue 1 */
  readonly version?: number;
  /** Turns the payload of an older version into one of today's; it is validated after that. */
  upgrade?(payload: unknown, version: number): unknown;
  /** @defaultValue "default" */
  readonly queue?: string;
  /** @defaultValue "normal" */
  readonly priority?: JobPriority;
  readonly retry?: {
    /** Attempts at the most, the first among them. @defaultValue 10 */
    readonly attempts?: number;
    readonly backoff?: Backoff;
  };
  /** How long an attempt may take, in milliseconds. @defaultValue 60,000 */
  readonly timeout?: number;
  run(input: JobInput<z.output<Schema>>): Promise<unknown>;
}

export interface EnqueueOptions {
  /** Not before this time. */
  readonly runAt?: Date;
  /** Not before so many milliseconds from now, by the database's clock. */
  readonly delay?: number;
  readonly priority?: JobPriority;
  /** While a job of this type with this key has not ended, no other is made. */
  readonly uniqueKey?: string;
}

export interface EnqueuedJob {
  readonly id: string;
  /** False when a job with the same unique key was there already: the id is that one's. */
  readonly isNew: boolean;
}

/** A kind of job: what it carries, and what is done. */
export interface JobDefinition<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly options: Required<Pick<JobOptions<Schema>, "version" | "queue" | "priority" | "timeout">> & {
    readonly attempts: number;
    readonly backoff: Backoff;
  };
  /**
   * Puts a job into the queue: it exists if and only if the transaction commits.
   * @param db the tenant's transaction
   * @throws JobInvalid when the payload does not fit the schema or cannot be stored
   */
  enqueue(db: TenantDb, payload: z.input<Schema>, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** The same for many, in one statement. @returns one for each payload, in order */
  enqueueMany(
    db: TenantDb,
    payloads: readonly z.input<Schema>[],
    options?: Omit<EnqueueOptions, "uniqueKey">,
  ): Promise<EnqueuedJob[]>;
  /**
   * A stored payload as the handler gets it.
   * @throws JobInvalid when it does not fit the schema
   */
  read(stored: unknown, version: number): Promise<z.output<Schema>>;
  run(input: JobInput<z.output<Schema>>): Promise<unknown>;
}

/** An array's elements, as many as one statement takes. */
const MANY = 5_000;
const NAME = /^[a-z0-9][a-zA-Z0-9._-]{0,199}$/;

/**
 * Declares a kind of job. Nothing runs yet: a worker that knows it does.
 *
 * @param name what is stored with each job, so it must not change: "orders.send-receipt"
 * @throws DefinitionInvalid when an option is out of its range
 */
export function defineJob<Schema extends z.ZodType>(name: string, options: JobOptions<Schema>): JobDefinition<Schema> {
  const { version = 1, queue = "default", priority = "normal", timeout = 60_000, retry = {} } = options;
  const { attempts = 10, backoff = {} } = retry;
  const complete = { version, queue, priority, timeout, attempts, backoff };
  assertOptions(name, complete);

  async function parse(payload: unknown): Promise<z.output<Schema>> {
    let parsed: z.ZodSafeParseResult<z.output<Schema>>;
    try {
      parsed = options.payload.safeParse(payload);
    } catch (error) {
      // Only a schema with asynchronous parts needs the other one, which costs a few times as much.
      if (!(error instanceof z.core.$ZodAsyncError)) throw error;
      parsed = await options.payload.safeParseAsync(payload);
    }
    if (parsed.success) return parsed.data;
    throw payloadInvalid(name, parsed.error);
  }

  async function toWish(payload: z.input<Schema>, enqueueOptions: EnqueueOptions) {
    await parse(payload);
    // As it was given: what a schema makes of it, it makes again when the job runs.
    return { ...wishOf(enqueueOptions), type: name, payload: encodePayload(name, payload) };
  }

  function wishOf({ runAt, delay, priority: own = priority, uniqueKey }: EnqueueOptions) {
    if (runAt !== undefined && delay !== undefined)
      throw new JobInvalid(`Job "${name}" has a runAt and a delay. Give one.`);
    if (runAt !== undefined && Number.isNaN(runAt.getTime()))
      throw new JobInvalid(`The runAt of job "${name}" is no date.`);
    if (delay !== undefined && !(delay >= 0 && delay <= 1e12)) {
      throw new JobInvalid(`The delay of job "${name}" is ${delay}: it must be a number of milliseconds from 0 on.`);
    }
    if (uniqueKey !== undefined && (uniqueKey.length < 1 || uniqueKey.length > 500)) {
      throw new JobInvalid(`The uniqueKey of job "${name}" has ${uniqueKey.length} characters: it must have 1 to 500.`);
    }
    if (uniqueKey !== undefined) encodePayload(name, uniqueKey);
    const when = runAt ? { run_at: runAt.toISOString() } : { delay_ms: delay ?? 0 };
    return {
      ...{ queue, version, max_attempts: attempts, priority: PRIORITIES.indexOf(own), ...when },
      ...(uniqueKey === undefined ? {} : { unique_key: uniqueKey }),
    };
  }

  async function enqueueMany(db: TenantDb, payloads: readonly z.input<Schema>[], enqueueOptions: EnqueueOptions = {}) {
    const made: EnqueuedJob[] = [];
    for (let at = 0; at < payloads.length; at += MANY) {
      const wishes = await Promise.all(payloads.slice(at, at + MANY).map((payload) => toWish(payload, enqueueOptions)));
      const { rows } = await db.execute<{ id: string; is_new: boolean }>(
        sql`select * from rowhouse.enqueue_jobs(${JSON.stringify(wishes)})`,
      );
      made.push(...rows.map((row) => ({ id: row.id, isNew: row.is_new })));
    }
    return made;
  }

  return {
    name,
    options: complete,
    enqueueMany,
    async enqueue(db, payload, enqueueOptions) {
      const [made] = await enqueueMany(db, [payload], enqueueOptions);
      return made!;
    },
    async read(stored, storedVersion) {
      const decoded = decodePayload(stored as never);
      const current = storedVersion === version ? decoded : upgraded(decoded, storedVersion);
      return parse(current);
    },
    run: (input) => options.run(input),
  };

  function upgraded(payload: unknown, from: number): unknown {
    if (from < version && options.upgrade) return options.upgrade(payload, from);
    throw new JobInvalid(
      from > version
        ? `The payload of job "${name}" has version ${from}, and this code knows ${version}: a newer release has enqueued it.`
        : `The payload of job "${name}" has version ${from}, and this code expects ${version}: it needs \`upgrade\`.`,
    );
  }
}

function payloadInvalid(name: string, error: z.ZodError): JobInvalid {
  const problems = error.issues.map(({ path, message }) => `${["payload", ...path].join(".")}: ${message}`);
  return new JobInvalid(`The payload of job "${name}" does not fit its schema: ${problems.join("; ")}.`, {
    cause: error,
  });
}

function assertOptions(name: string, options: JobDefinition["options"]): void {
  const { version, queue, priority, timeout, attempts } = options;
  const wrong = (what: string) => new DefinitionInvalid(`Job ${JSON.stringify(name)}: ${what}.`);
  if (!NAME.test(name))
    throw wrong('a name has 1 to 200 letters, digits, ".", "_" and "-", e.g. "orders.send-receipt"');
  if (!NAME.test(queue) || queue.length > 100) throw wrong(`${JSON.stringify(queue)} cannot be the name of a queue`);
  if (!PRIORITIES.includes(priority)) throw wrong(`the priority must be one of ${PRIORITIES.join(", ")}`);
  for (const [key, value, most] of [
    ["version", version, 1e6],
    ["retry.attempts", attempts, 1_000],
    ["timeout", timeout, 86_400_000],
  ] as const) {
    if (!Number.isInteger(value) || value < 1 || value > most)
      throw wrong(`${key} must be a whole number from 1 to ${most}`);
  }
}
