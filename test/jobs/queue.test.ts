import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { createHorizon } from "../../src/jobs/horizon.ts";
import type { Lane } from "../../src/jobs/lanes.ts";
import { type ClaimedJob, createQueueStore, type QueueStore } from "../../src/jobs/queue-store.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { until } from "./job-server.ts";

/*
 * The queue's functions, in the order in which several sessions may call them. Each connection is a session of its own; an open
 * transaction stands for somebody who is in the middle of it.
 */

let server: TestDatabase;
let owner: SqlConnection;
let workerConnection: SqlConnection;
let store: QueueStore;
let worker: string;
let tenant: string;

beforeAll(async () => {
  server = await createTestDatabase();
  owner = await server.connectAsOwner();
  workerConnection = await connectSql(server.workerUrl, "test worker");
  store = createQueueStore(workerConnection);
});

afterAll(async () => {
  await workerConnection.end();
  await owner.end();
  await server.drop();
});

beforeEach(async () => {
  await owner.query(
    "truncate rowhouse.jobs, rowhouse.ready_jobs, rowhouse.waiting_jobs, rowhouse.claims, rowhouse.workers, rowhouse.dead_jobs, rowhouse.job_history",
  );
  worker = await store.register("one", 60_000);
  tenant = (await server.createTenant()).id;
});

interface Wish {
  readonly type?: string;
  readonly priority?: number;
  readonly delay_ms?: number;
  readonly unique_key?: string;
}

/** A session of the application in a transaction of the tenant, open until it is ended. */
async function asTenant(id = tenant): Promise<SqlConnection> {
  const connection = await server.connectAsApp();
  await connection.query(`begin; select rowhouse.enter('${id}', 1)`);
  return connection;
}

async function enqueueOn(connection: SqlConnection, wishes: readonly Wish[]): Promise<string[]> {
  const all = wishes.map((wish) => ({
    ...{ type: "work", queue: "default", priority: 2, payload: {}, version: 1, max_attempts: 3 },
    ...wish,
  }));
  const { rows } = await connection.query<{ id: string }>("select * from rowhouse.enqueue_jobs($1)", [
    JSON.stringify(all),
  ]);
  return rows.map(({ id }) => id);
}

async function enqueue(wishes: readonly Wish[], id = tenant): Promise<string[]> {
  await using connection = await asTenant(id);
  const ids = await enqueueOn(connection, wishes);
  await connection.query("commit");
  return ids;
}

const lane = (changes: Partial<Lane> = {}) => ({
  ...{ queue: "default", tenantId: tenant, type: "work", priority: 2, after: 0 },
  ...changes,
});

const claim = async (quota = 10, by = worker, queue = store): Promise<readonly ClaimedJob[]> =>
  (await queue.claim(by, [{ lane: lane(), quota }])).jobs;

const finish = (connection: SqlConnection, job: ClaimedJob, attempt = job.attempts + 1) =>
  connection.query("select rowhouse.finish_job($1, $2, $3)", [job.id, job.lease, attempt]);

const die = (id: string) =>
  owner.query("update rowhouse.workers set expires_at = now() - interval '1 s' where id = $1", [id]);

const idsIn = async (table: string) =>
  (
    await owner.query<{ id: string }>(
      `select ${/jobs$|history$/.test(table) && !/ready|waiting/.test(table) ? "id" : "job_id as id"} from rowhouse.${table} order by 1`,
    )
  ).rows.map(({ id }) => id);

/** Until somebody waits for a lock. */
async function untilWaiting(): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const { rowCount } = await server.asAdmin(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    if (rowCount > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nobody waits");
}

describe("claiming", () => {
  it("gives a job to one worker, in the order in which they came", async () => {
    const ids = await enqueue([{}, {}, {}, {}]);
    const other = await store.register("two", 60_000);
    await using second = await connectSql(server.workerUrl, "test");
    const [first, rest] = await Promise.all([claim(2), claim(10, other, createQueueStore(second))]);
    expect([...first, ...rest].map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(await claim()).toEqual([]);
  });

  it("takes at most what is asked of each lane, and begins after the number it is given", async () => {
    const ids = await enqueue([{}, {}, { priority: 0 }, { priority: 0 }, { type: "other" }]);
    const { lanes } = await store.newLanes(0);
    expect(lanes.map(({ type, priority }) => [type, priority])).toHaveLength(3);
    const quotas = [
      { lane: lane({ priority: 0 }), quota: 1 },
      { lane: lane(), quota: 5 },
    ];
    const { found, jobs } = await store.claim(worker, quotas);
    expect(jobs.map(({ id }) => id)).toEqual([ids[2], ids[0], ids[1]]);
    expect(found.map(({ count }) => count)).toEqual([1, 2]);
    const after = { ...lane({ priority: 0 }), after: found[0]!.last! };
    expect((await store.claim(worker, [{ lane: after, quota: 5 }])).jobs.map(({ id }) => id)).toEqual([ids[3]]);
  });

  it("finds the very first job of a queue by its number", async () => {
    await owner.query("alter sequence rowhouse.ready_jobs_seq restart");
    const before = await store.newLanes(0);
    await enqueue([{}]);
    expect((await store.newLanes(before.last)).lanes).toHaveLength(1);
  });

  it("leaves out a suspended tenant, and a job that was cancelled", async () => {
    const [id] = await enqueue([{}, {}]);
    await owner.query("update rowhouse.tenants set status = 'suspended' where id = $1", [tenant]);
    expect(await claim()).toEqual([]);
    await owner.query("update rowhouse.tenants set status = 'active' where id = $1", [tenant]);
    await using connection = await asTenant();
    await connection.query("select rowhouse.cancel_job($1)", [id]);
    await connection.query("commit");
    expect((await claim()).map((job) => job.id)).not.toContain(id);
    expect(await idsIn("ready_jobs")).toEqual([]);
  });

  it("is refused to a worker that was taken for dead", async () => {
    await enqueue([{}]);
    await die(worker);
    await store.rescue();
    await expect(claim()).rejects.toMatchObject({ code: "ERR_WORKER_LOST" });
    expect(await store.heartbeat(worker, 1_000)).toBe(false);
    expect(await idsIn("ready_jobs")).toHaveLength(1);
  });
});

describe("a job's end", () => {
  it("commits with the handler's writes, or not at all", async () => {
    await enqueue([{}]);
    const [job] = await claim();
    const connection = await asTenant();
    await finish(connection, job!);
    await connection.query("rollback");
    expect(await idsIn("jobs")).toEqual([job!.id]);
    await connection.query(`begin; select rowhouse.enter('${tenant}', 1)`);
    await finish(connection, job!);
    await connection.query("commit");
    await connection.end();
    expect(await idsIn("jobs")).toEqual([]);
    expect(await idsIn("job_history")).toEqual([job!.id]);
  });

  it("is refused without the lease, to another tenant, to another attempt, and twice", async () => {
    await enqueue([{}, {}]);
    const [job, another] = await claim(1).then(async (first) => [first[0]!, (await claim(1))[0]!]);
    const refuse = async (work: (connection: SqlConnection) => Promise<unknown>, id = tenant) => {
      await using connection = await asTenant(id);
      await expect(work(connection)).rejects.toMatchObject({ code: "ERR_JOB_LEASE_LOST" });
    };
    await refuse((connection) => finish(connection, { ...job!, lease: another!.lease }));
    await refuse((connection) => finish(connection, job!, 2));
    await refuse((connection) => finish(connection, job!), (await server.createTenant()).id);
    await using connection = await asTenant();
    await finish(connection, job!);
    await connection.query("commit");
    await refuse((again) => finish(again, job!));
  });

  it("and a rescue exclude each other: whoever comes second sees what the first has done", async () => {
    await enqueue([{}, {}]);
    const [first, second] = await claim();
    const finishing = await asTenant();
    await finish(finishing, first!);
    await die(worker);
    // In the middle of its COMMIT, as it were: its lease is left alone.
    expect(await store.rescue()).toBe(0);
    await finishing.query("commit");
    expect(await store.rescue()).toBe(1);
    expect(await idsIn("job_history")).toEqual([first!.id]);
    expect(await idsIn("waiting_jobs")).toEqual([second!.id]);

    // The other way round: it was taken away, so its handler's writes are undone.
    await using late = await asTenant();
    await expect(finish(late, second!)).rejects.toMatchObject({ code: "ERR_JOB_LEASE_LOST" });
    await finishing.end();
    expect((await owner.query("select attempts, failures from rowhouse.jobs")).rows).toMatchObject([
      { attempts: 1, failures: [{ attempt: 1, message: "its worker one died" }] },
    ]);
    expect(await store.complete(worker, [second!], [])).toBe(0);
    expect(await store.fail(worker, second!, { message: "x" }, 0, false)).toBe("lost");
  });

  it("and its cancellation exclude each other", async () => {
    await enqueue([{}]);
    const [job] = await claim();
    const cancelling = await asTenant();
    expect((await cancelling.query("select rowhouse.cancel_job($1) as was", [job!.id])).rows).toEqual([{ was: true }]);
    const finishing = await asTenant();
    const refused = expect(finish(finishing, job!)).rejects.toMatchObject({ code: "ERR_JOB_LEASE_LOST" });
    await untilWaiting();
    await cancelling.query("commit");
    await refused;
    for (const connection of [cancelling, finishing]) await connection.end();
    expect((await owner.query("select outcome from rowhouse.job_history")).rows).toEqual([{ outcome: "cancelled" }]);
  });

  it("is told in batches for those that opened no transaction, and only of what is held", async () => {
    const ids = await enqueue([{}, {}, {}]);
    const jobs = await claim();
    const foreign = { ...jobs[2]!, lease: "00000000-0000-4000-8000-000000000000" };
    expect(await store.complete(worker, [jobs[0]!, jobs[1]!, foreign], [])).toBe(2);
    expect(await idsIn("jobs")).toEqual([ids[2]]);
    await store.complete(worker, [jobs[2]!], [jobs[2]!.lease]);
    expect((await owner.query("select from rowhouse.claims")).rowCount).toBe(0);
  });
});

describe("a failed job", () => {
  it("waits for its next attempt, and after the last one is among the dead", async () => {
    const [id] = await enqueue([{}]);
    const outcomes: string[] = [];
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const [job] = await claim();
      expect(job).toMatchObject({ id, attempts: attempt - 1 });
      outcomes.push(await store.fail(worker, job!, { message: `no ${attempt}` }, attempt === 1 ? 60_000 : 0, false));
      if (attempt > 1) continue;
      expect(await store.promote("-infinity", 10)).toMatchObject({ promoted: 0 });
      await owner.query("update rowhouse.waiting_jobs set run_at = now()");
      expect(await store.promote("-infinity", 10)).toMatchObject({ promoted: 1, next: null });
    }
    expect(outcomes).toEqual(["waiting", "ready", "dead"]);
    expect(await idsIn("jobs")).toEqual([]);
    const { rows } = await owner.query("select attempts, failures from rowhouse.dead_jobs where id = $1", [id]);
    expect(rows).toMatchObject([
      { attempts: 3, failures: [{ message: "no 1" }, { message: "no 2" }, { message: "no 3" }] },
    ]);
  });

  it("that kills its worker each time is among the dead in the end", async () => {
    const [id] = await enqueue([{}]);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const victim = await store.register(`victim ${attempt}`, 60_000);
      expect(await claim(1, victim)).toHaveLength(1);
      await die(victim);
      await store.rescue();
      await owner.query("update rowhouse.waiting_jobs set run_at = now()");
      await store.promote("-infinity", 10);
    }
    expect(await idsIn("dead_jobs")).toEqual([id]);
  });

  it("leaves the others of its claim where they are, whoever's they are", async () => {
    const tenants = [tenant, ...(await Promise.all([1, 2].map(async () => (await server.createTenant()).id)))];
    for (const id of tenants) await enqueue([{}], id);
    const quotas = tenants.map((tenantId) => ({ lane: lane({ tenantId }), quota: 1 }));
    const { jobs } = await store.claim(worker, quotas);
    await store.release(worker, [jobs[0]!]);
    await store.fail(worker, jobs[1]!, { message: "no" }, 0, false);
    await die(worker);
    expect(await store.rescue()).toBe(1);
    expect((await idsIn("ready_jobs")).concat(await idsIn("waiting_jobs")).sort()).toEqual(
      jobs.map(({ id }) => id).sort(),
    );
  });

  it("is given back when the worker was never told that it has it", async () => {
    await enqueue([{}, {}]);
    const [known] = await claim(1);
    const [unknown] = await claim(1);
    await store.releaseUnknown(worker, [known!.lease]);
    expect((await claim()).map(({ id }) => id)).toEqual([unknown!.id]);
    await using connection = await asTenant();
    await expect(finish(connection, unknown!)).rejects.toMatchObject({ code: "ERR_JOB_LEASE_LOST" });
  });

  it("keeps its last ten failures", async () => {
    await enqueue([{}]);
    await owner.query("update rowhouse.jobs set max_attempts = 100");
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      const [job] = await claim();
      await store.fail(worker, job!, { message: "no" }, 0, false);
    }
    const { rows } = await owner.query<{ failures: { attempt: number }[] }>("select failures from rowhouse.jobs");
    expect(rows[0]!.failures.map(({ attempt }) => attempt)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("is not failed when it was only given back", async () => {
    await enqueue([{}, {}]);
    const jobs = await claim();
    await store.release(worker, jobs);
    expect((await claim()).map(({ attempts }) => attempts)).toEqual([0, 0]);
  });
});

describe("the numbers of ready jobs", () => {
  it("tell what is new, and that one which was drawn earlier may still turn up", async () => {
    const slow = await asTenant();
    await enqueueOn(slow, [{}]);
    await enqueue([{}]);
    const seen = await store.newLanes(0);
    // The slow one's transaction is running, and was when the last number was drawn.
    expect(seen.oldest < seen.fence).toBe(true);
    await claim();
    await slow.query("commit");
    await slow.end();
    const later = await store.newLanes(0);
    expect(later.lanes).toMatchObject([{ first: seen.last - 1 }]);
    expect(later.last).toBe(seen.last);
  });

  it("are waited for while the youngest transaction of all may have drawn one", async () => {
    const slow = await asTenant();
    await enqueueOn(slow, [{}]);
    const horizon = createHorizon();
    // Nobody has begun or ended since: its id is the last that was given.
    for (let looks = 0; looks < 3; looks += 1) horizon.note(await store.newLanes(horizon.value));
    await slow.query("commit");
    await slow.end();
    expect((await store.newLanes(horizon.value)).lanes).toHaveLength(1);
    // Ids are the whole server's: others' transactions have to end too.
    await until(async () => {
      horizon.note(await store.newLanes(horizon.value));
      return (await store.newLanes(horizon.value)).lanes.length === 0;
    });
  });

  it("are found lane by lane, for whoever has just come", async () => {
    const other = (await server.createTenant()).id;
    await enqueue([{}, {}, { priority: 0 }, { type: "b" }]);
    await enqueue([{}, {}], other);
    const lanes = await store.allLanes();
    expect(lanes.map(({ tenantId, type, priority }) => `${tenantId === tenant} ${type} ${priority}`).sort()).toEqual([
      "false work 2",
      "true b 2",
      "true work 0",
      "true work 2",
    ]);
  });
});

describe("the queue's tables", () => {
  it("can be read by a tenant, its own rows only, and written by nobody", async () => {
    const [id] = await enqueue([{}]);
    const other = (await server.createTenant()).id;
    await enqueue([{}], other);
    await using connection = await asTenant();
    expect((await connection.query("select id from rowhouse.jobs")).rows).toEqual([{ id }]);
    for (const text of [
      "update rowhouse.jobs set priority = 0",
      "delete from rowhouse.ready_jobs",
      "insert into rowhouse.ready_jobs (queue, type, priority, job_id) values ('default', 'work', 0, gen_random_uuid())",
      "select from rowhouse.claims",
      "select from rowhouse.workers",
      "select rowhouse.claim_jobs(gen_random_uuid(), '{}', '{}', '{}', '{}', '{}', '{}')",
      "select rowhouse.requeue_job(gen_random_uuid(), gen_random_uuid(), null, 0, false)",
    ]) {
      await connection.query("savepoint s");
      await expect(connection.query(text), text).rejects.toMatchObject({ code: "ERR_PERMISSION_DENIED" });
      await connection.query("rollback to s");
    }
  });

  it("are out of the worker's reach but for its functions", async () => {
    for (const text of [
      "select from rowhouse.jobs",
      "update rowhouse.jobs set tenant_id = gen_random_uuid()",
      "select from public.notes",
      "select from rowhouse.tenants",
      "select rowhouse.enqueue_jobs('[]')",
      "select rowhouse.enter(gen_random_uuid(), 1)",
    ]) {
      await expect(workerConnection.query(text), text).rejects.toMatchObject({ code: "ERR_PERMISSION_DENIED" });
    }
  });

  it("refuse a job without a tenant", async () => {
    const refused = server.asApp("select rowhouse.enqueue_jobs('[{}]')");
    await expect(refused).rejects.toMatchObject({ code: "ERR_TENANT_REQUIRED" });
  });

  it("take a unique job once, also when two ask at the same time", async () => {
    const first = await asTenant();
    const [id] = await enqueueOn(first, [{ unique_key: "k" }, { unique_key: "k" }]);
    const second = await asTenant();
    const waiting = enqueueOn(second, [{ unique_key: "k" }]);
    await untilWaiting();
    await first.query("commit");
    expect(await waiting).toEqual([id]);
    await second.query("commit");
    for (const connection of [first, second]) await connection.end();
    expect(await idsIn("jobs")).toEqual([id]);
  });
});

describe("limits", () => {
  const control = (columns: string, values: readonly unknown[]) =>
    owner.query(
      `insert into rowhouse.job_controls (${columns}) values (${values.map((_, n) => `$${n + 1}`).join(", ")})`,
      values,
    );
  const claimAll = async (quotas: Parameters<QueueStore["claim"]>[1], queue = store, by = worker) =>
    (await queue.claim(by, quotas)).jobs;

  beforeEach(() => owner.query("truncate rowhouse.job_controls"));

  it("hold over all that runs, whoever claims, and inside one claim", async () => {
    const other = (await server.createTenant()).id;
    await enqueue(Array.from({ length: 10 }, () => ({})));
    await enqueue(
      Array.from({ length: 10 }, () => ({})),
      other,
    );
    await control("queue, max_running", ["default", 5]);
    const quotas = [tenant, other].map((tenantId) => ({ lane: lane({ tenantId }), quota: 3 }));
    const first = await claimAll(quotas);
    expect(first.map(({ tenantId }) => tenantId === tenant)).toEqual([true, true, true, false, false]);
    expect(await claimAll(quotas)).toEqual([]);
    await store.complete(worker, first.slice(0, 2), []);
    expect(await claimAll(quotas)).toHaveLength(2);
    // At run time.
    await owner.query("update rowhouse.job_controls set max_running = 6");
    expect(await claimAll(quotas)).toHaveLength(1);
  });

  it("hold exactly when many claim at the same time", async () => {
    await enqueue(Array.from({ length: 50 }, () => ({})));
    await control("type, max_running", ["work", 7]);
    const claims = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => {
        await using connection = await connectSql(server.workerUrl, "test");
        const queue = createQueueStore(connection);
        const by = await queue.register(`w${n}`, 60_000);
        return (await claimAll([{ lane: lane(), quota: 3 }], queue, by)).length;
      }),
    );
    expect(claims.reduce((sum, count) => sum + count, 0)).toBe(7);
  });

  it("hold for each tenant, for one tenant, and together the narrowest", async () => {
    const other = (await server.createTenant()).id;
    const third = (await server.createTenant()).id;
    for (const id of [tenant, other, third])
      await enqueue(
        Array.from({ length: 10 }, () => ({})),
        id,
      );
    await control("queue, max_running, max_running_per_tenant", ["default", 8, 4]);
    await control("tenant, max_running", [tenant, 2]);
    const quotas = [tenant, other, third].map((tenantId) => ({ lane: lane({ tenantId }), quota: 10 }));
    const jobs = await claimAll(quotas);
    const of = (id: string) => jobs.filter(({ tenantId }) => tenantId === id).length;
    expect([of(tenant), of(other), of(third)]).toEqual([2, 4, 2]);
  });

  it("of nothing pause a queue, a tenant or a type, until they are lifted", async () => {
    await enqueue([{}, { type: "other" }]);
    await control("type, is_paused", ["work", true]);
    const quotas = [lane(), lane({ type: "other" })].map((one) => ({ lane: one, quota: 5 }));
    expect((await claimAll(quotas)).map(({ type }) => type)).toEqual(["other"]);
    await owner.query("update rowhouse.job_controls set is_paused = false");
    expect((await claimAll(quotas)).map(({ type }) => type)).toEqual(["work"]);
  });
});
