import { sql } from "drizzle-orm";
import type { Logger } from "pino";
import type { Database, TenantDb, TenantTransaction } from "../database/types.ts";
import { JobInterrupted, JobLeaseLost, JobTimeout, TenantSuspended } from "../errors.ts";
import type { TenantContext } from "../tenancy/context.ts";
import type { Registry } from "../tenancy/registry.ts";
import type { JobDefinition, JobInput } from "./define-job.ts";
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
 * One attempt of a job, as its tenant, in a transaction that is begun with the handler's first query and in which the job itself ends.
 * What a handler does not ask for (transaction, signal, log) is not made: most of what a small job costs would be these.
 */
export class JobRun implements JobInput<unknown> {
  readonly attempt: number;
  payload: unknown = undefined;
  readonly #deps: RunDeps;
  readonly #definition: JobDefinition;
  readonly #job: ClaimedJob;
  #transaction: TenantTransaction | undefined;
  #log: Logger | undefined;
  #controller: AbortController | undefined;
  #deadline: number;
  #reason: Error | undefined;
  #giveUp: ((reason: Error) => void) | undefined;

  constructor(deps: RunDeps, definition: JobDefinition, job: ClaimedJob) {
    this.#deps = deps;
    this.#definition = definition;
    this.#job = job;
    this.attempt = job.attempts + 1;
    this.#deadline = performance.now() + definition.options.timeout;
  }

  get idempotencyKey(): string {
    return this.#job.id;
  }

  get tenantId(): string {
    return this.#job.tenantId;
  }

  get db(): TenantDb {
    return this.#open().db;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    const { id, type, tenantId } = this.#job;
    return (this.#log ??= this.#deps.log.child({ job: id, type, tenant: tenantId, attempt: this.attempt }));
  }

  /** Asks the attempt to end. A handler that does not is not waited for any longer than a while. */
  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#deadline = performance.now() + GRACE_MS;
    this.#controller?.abort(reason);
  }

  /** Ends what has taken too long. To be called now and then. */
  check(now: number): void {
    if (now < this.#deadline) return;
    if (this.#reason) this.#giveUp?.(this.#reason);
    else {
      const { timeout } = this.#definition.options;
      this.abort(new JobTimeout(`Job "${this.#job.type}" took longer than its timeout of ${timeout} ms.`));
    }
  }

  /** Runs it to its end. Never rejects. */
  async run(): Promise<JobOutcome> {
    try {
      await new Promise<unknown>((resolve, reject) => {
        this.#giveUp = reject;
        this.#handle().then(resolve, reject);
      });
      return await this.#end();
    } catch (thrown) {
      await this.#transaction?.rollback();
      return this.#outcomeOf(thrown);
    }
  }

  async #handle(): Promise<unknown> {
    const { registry, context } = this.#deps;
    const { payload, payloadVersion, tenantId } = this.#job;
    this.payload = await this.#definition.read(payload, payloadVersion);
    const tenant = await registry.tenant({ by: "id", id: tenantId });
    const open = () => this.#open();
    const scope = {
      tenant,
      principal: undefined,
      get transaction() {
        return open();
      },
    };
    return context.run(scope, () => this.#definition.run(this));
  }

  #open(): TenantTransaction {
    const { tenantId: id, placement, epoch } = this.#job;
    return (this.#transaction ??= this.#deps.database.open({ id, placement, epoch }));
  }

  async #end(): Promise<JobOutcome> {
    const transaction = this.#transaction;
    if (!transaction) return { kind: "done" };
    if (transaction.queryCount === 0) {
      await transaction.commit();
      return { kind: "done" };
    }
    const { id, lease } = this.#job;
    // Sent at once, with COMMIT right behind it: a refusal turns that into a ROLLBACK.
    const finishing = transaction.db
      .execute(sql`select rowhouse.finish_job(${id}, ${lease}, ${this.attempt})`)
      .execute();
    const [finish, commit] = await Promise.allSettled([finishing, transaction.commit()]);
    if (finish.status === "rejected") throw finish.reason;
    if (commit.status === "rejected") throw commit.reason;
    return { kind: "finished" };
  }

  #outcomeOf(thrown: unknown): JobOutcome {
    if (thrown instanceof JobLeaseLost || this.#reason instanceof JobLeaseLost) return { kind: "lost" };
    // Whatever the handler made of it: it was told to stop.
    if (this.#reason instanceof JobInterrupted) return { kind: "interrupted" };
    if (thrown instanceof TenantSuspended) return { kind: "interrupted" };
    return { kind: "failed", thrown };
  }
}
