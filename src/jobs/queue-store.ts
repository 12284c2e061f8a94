import type { SqlConnection } from "../database/sql-connection.ts";
import type { Placement } from "../database/types.ts";
import type { Failure } from "./failure.ts";
import type { NumbersSeen } from "./horizon.ts";
import type { Lane, LaneQuota } from "./lanes.ts";

/** A job that this worker holds. */
export interface ClaimedJob {
  readonly lease: string;
  readonly id: string;
  readonly tenantId: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly payload: unknown;
  readonly payloadVersion: number;
  /** Attempts that have failed. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly placement: Placement;
  readonly epoch: number;
}

export interface LaneFound extends Lane {
  /** The number of its first line. */
  readonly first: number;
}

/** What became of a job that did not end well. `lost`: it was not the worker's any more. `gone`: it had ended or was cancelled. */
export type Requeued = "ready" | "waiting" | "dead" | "lost" | "gone";

/**
 * The queue as a worker sees it: db/migrations/0004_jobs.sql says what each function does.
 * @param connection a connection as the worker role
 */
export function createQueueStore(connection: SqlConnection) {
  const one = async <Row extends object>(text: string, values: readonly unknown[]) =>
    (await connection.query<Row>(text, values)).rows[0]!;
  const columns = (jobs: readonly ClaimedJob[]) => [
    jobs.map(({ lease }) => lease),
    jobs.map(({ tenantId }) => tenantId),
    jobs.map(({ id }) => id),
  ];

  return {
    async register(name: string, ttl: number): Promise<string> {
      return (await one<{ id: string }>("select rowhouse.register_worker($1, $2) as id", [name, ttl])).id;
    },

    /** @returns false when the worker was taken for dead */
    async heartbeat(worker: string, ttl: number): Promise<boolean> {
      return (await one<{ alive: boolean }>("select rowhouse.heartbeat_worker($1, $2) as alive", [worker, ttl])).alive;
    },

    async newLanes(after: number): Promise<NumbersSeen & { readonly lanes: readonly LaneFound[] }> {
      const row = await one<{ lanes: NewLane[] | null; last: string; fence: string; oldest: string }>(
        "select * from rowhouse.new_lanes($1)",
        [after],
      );
      const lanes = (row.lanes ?? []).map(([queue, tenantId, type, priority, first]) => ({
        ...{ queue, tenantId, type, priority, first },
      }));
      return { lanes, last: Number(row.last), fence: BigInt(row.fence), oldest: BigInt(row.oldest) };
    },

    async allLanes(): Promise<readonly LaneFound[]> {
      const { rows } = await connection.query<LaneFound & { first: string }>(
        'select queue, tenant_id as "tenantId", type, priority, first from rowhouse.all_lanes()',
      );
      return rows.map((row) => ({ ...row, first: Number(row.first) }));
    },

    /** Tenants that get more turns than one. */
    async weights(): Promise<ReadonlyMap<string, number>> {
      const { rows } = await connection.query<{ tenant: string; weight: number }>(
        "select * from rowhouse.tenant_weights()",
      );
      return new Map(rows.map(({ tenant, weight }) => [tenant, weight]));
    },

    /** @returns for each quota, in order, how many jobs it gave and the last one's number; and the jobs */
    async claim(worker: string, quotas: readonly LaneQuota[]) {
      const { rows } = await connection.query<ClaimRow>(CLAIM, [
        worker,
        quotas.map(({ lane }) => lane.queue),
        quotas.map(({ lane }) => lane.tenantId),
        quotas.map(({ lane }) => lane.type),
        quotas.map(({ lane }) => lane.priority),
        quotas.map(({ lane }) => lane.after),
        quotas.map(({ quota }) => quota),
      ]);
      const found = quotas.map(() => ({ count: 0, last: undefined as number | undefined }));
      for (const { lane, seq } of rows) {
        const entry = found[lane - 1]!;
        entry.count += 1;
        entry.last = Number(seq);
      }
      return {
        found,
        jobs: rows.map(({ lane, seq: _seq, ...job }) => ({ ...job, priority: quotas[lane - 1]!.lane.priority })),
      };
    },

    /** @returns how many were still held */
    async complete(worker: string, jobs: readonly ClaimedJob[], closed: readonly string[]): Promise<number> {
      const values = [worker, ...columns(jobs), closed];
      return (
        await one<{ completed: number }>("select rowhouse.complete_jobs($1, $2, $3, $4, $5) as completed", values)
      ).completed;
    },

    /** @param delay milliseconds until the next attempt */
    async fail(worker: string, job: ClaimedJob, failure: Failure, delay: number, isFinal: boolean): Promise<Requeued> {
      const values = [worker, job.lease, job.tenantId, job.id, JSON.stringify(failure), delay, isFinal];
      return (await one<{ became: Requeued }>("select rowhouse.fail_job($1, $2, $3, $4, $5, $6, $7) as became", values))
        .became;
    },

    async release(worker: string, jobs: readonly ClaimedJob[]): Promise<void> {
      if (jobs.length === 0) return;
      await connection.query("select rowhouse.release_jobs($1, $2, $3, $4)", [worker, ...columns(jobs)]);
    },

    /** Gives back what a claim has taken whose answer was lost. @param known leases that the worker knows of */
    async releaseUnknown(worker: string, known: readonly string[]): Promise<void> {
      await connection.query("select rowhouse.release_unknown_claims($1, $2)", [worker, known]);
    },

    async retire(worker: string): Promise<void> {
      await connection.query("select rowhouse.retire_worker($1)", [worker]);
    },

    /** @returns how many jobs were taken from dead workers */
    async rescue(): Promise<number> {
      return (await one<{ rescued: number }>("select rowhouse.rescue_jobs() as rescued", [])).rescued;
    },

    /**
     * @param after what the last call has said in `upTo`; "-infinity" at first
     * @returns how many were promoted, up to when it has looked, and how many milliseconds it is to the next; null when none waits
     */
    promote(after: string, max: number): Promise<Promotion> {
      return one('select promoted, up_to::text as "upTo", next_ms as next from rowhouse.promote_jobs($1, $2)', [
        after,
        max,
      ]);
    },
  };
}

interface Promotion {
  readonly promoted: number;
  readonly upTo: string;
  readonly next: number | null;
}

export type QueueStore = ReturnType<typeof createQueueStore>;

type NewLane = [queue: string, tenantId: string, type: string, priority: number, first: number];
type ClaimRow = Omit<ClaimedJob, "priority"> & { readonly lane: number; readonly seq: string };

const CLAIM = `select lane, seq, lease, id, tenant_id as "tenantId", type, queue, payload, payload_version as "payloadVersion", attempts,
  max_attempts as "maxAttempts", placement, epoch
  from rowhouse.claim_jobs($1, $2, $3, $4, $5, $6, $7)`;
