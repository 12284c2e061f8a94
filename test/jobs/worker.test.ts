import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { connectSql } from "../../src/database/sql-connection.ts";
import { defineJob } from "../../src/jobs/define-job.ts";
import { createQueueStore } from "../../src/jobs/queue-store.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { createJobServer, type JobServer, until } from "./job-server.ts";

let server: TestDatabase;
let app: JobServer;
let a: string;
let b: string;

beforeAll(async () => {
  server = await createTestDatabase();
});
afterAll(() => server.drop());

beforeEach(async () => {
  await server.asOwner(
    "truncate rowhouse.jobs, rowhouse.ready_jobs, rowhouse.waiting_jobs, rowhouse.claims, rowhouse.workers, rowhouse.dead_jobs, rowhouse.job_history, public.notes cascade",
  );
  app = createJobServer(server);
  [a, b] = [(await server.createTenant()).id, (await server.createTenant()).id];
});

const bodies = async (tenant: string) =>
  (await app.withTenant(tenant, (db) => db.select().from(notes))).map(({ body }) => body).sort();

const count = async (table: string) =>
  Number((await server.asOwner<{ n: string }>(`select count(*) as n from rowhouse.${table}`)).rows[0]!.n);

const writeNote = defineJob("write-note", {
  payload: z.object({ body: z.string() }),
  retry: { attempts: 3, backoff: { first: 1 } },
  async run({ db, payload }) {
    await db.insert(notes).values({ body: payload.body });
  },
});

describe("a job", () => {
  it("runs as its tenant, once, in a transaction in which it ends", async () => {
    app.work([writeNote]);
    await app.withTenant(a, (db) => writeNote.enqueue(db, { body: "of a" }));
    await app.withTenant(b, (db) => writeNote.enqueueMany(db, [{ body: "of b" }, { body: "of b too" }]));
    await until(async () => (await count("job_history")) === 3);
    expect([await bodies(a), await bodies(b)]).toEqual([["of a"], ["of b", "of b too"]]);
    for (const table of ["jobs", "ready_jobs", "waiting_jobs", "dead_jobs"]) expect(await count(table)).toBe(0);
    await until(async () => (await count("claims")) === 0);
  });

  it("does not exist unless the transaction commits", async () => {
    const failing = app.withTenant(a, async (db) => {
      await writeNote.enqueue(db, { body: "never" });
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    expect(await count("jobs")).toBe(0);
  });

  it("that fails is tried again later, and its writes are undone", async () => {
    const flaky = defineJob("flaky", {
      payload: z.object({}),
      retry: { attempts: 3, backoff: { first: 1 } },
      async run({ db, attempt }) {
        await db.insert(notes).values({ body: `attempt ${attempt}` });
        if (attempt < 3) throw new Error("not yet");
      },
    });
    app.work([flaky]);
    await app.withTenant(a, (db) => flaky.enqueue(db, {}));
    await until(async () => (await count("job_history")) === 1);
    expect(await bodies(a)).toEqual(["attempt 3"]);
  });

  it("that fails for good is among the dead, with its history", async () => {
    const hopeless = defineJob("hopeless", {
      payload: z.object({ when: z.date(), big: z.bigint() }),
      retry: { attempts: 2, backoff: { first: 1 } },
      run: () => Promise.reject(new Error("never \0 ever")),
    });
    app.work([hopeless]);
    await app.withTenant(a, (db) => hopeless.enqueue(db, { when: new Date(0), big: 7n }));
    await until(async () => (await count("dead_jobs")) === 1);
    const { rows } = await server.asOwner("select attempts, payload, failures from rowhouse.dead_jobs");
    expect(rows[0]).toMatchObject({
      attempts: 2,
      payload: { when: { $date: "1970-01-01T00:00:00.000Z" }, big: { $bigint: "7" } },
      failures: [
        { attempt: 1, message: "Error: never \u2400 ever" },
        { attempt: 2, message: "Error: never \u2400 ever" },
      ],
    });
    expect(await count("jobs")).toBe(0);
  });

  it("without a query holds no connection, and ends in a batch with others", async () => {
    let runs = 0;
    const nothing = defineJob("nothing", { payload: z.number(), run: () => Promise.resolve((runs += 1)) });
    app.work([nothing]);
    const numbers = Array.from({ length: 2_000 }, (_, n) => n);
    await app.withTenant(a, (db) => nothing.enqueueMany(db, numbers));
    await until(async () => (await count("job_history")) === 2_000);
    expect(runs).toBe(2_000);
    await until(async () => (await count("claims")) === 0);
  });

  it("with a delay runs when its time has come, and not before", async () => {
    app.work([writeNote]);
    await app.withTenant(a, async (db) => {
      await writeNote.enqueue(db, { body: "later" }, { delay: 300 });
      await writeNote.enqueue(db, { body: "much later" }, { runAt: new Date(Date.now() + 3_600_000) });
      await writeNote.enqueue(db, { body: "now" });
    });
    await until(async () => (await count("job_history")) === 2);
    expect(await bodies(a)).toEqual(["later", "now"]);
    const { rows } = await server.asOwner<{ early: boolean }>(
      `select h.started_at < h.created_at + interval '300 ms' as early from rowhouse.job_history h
       order by h.finished_at desc limit 1`,
    );
    expect(rows).toEqual([{ early: false }]);
    expect(await count("waiting_jobs")).toBe(1);
  });

  it("with a unique key is made once while it has not ended, however many ask at once", async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.withTenant(a, (db) => writeNote.enqueue(db, { body: "unique" }, { uniqueKey: "k" })),
      ),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect((await app.withTenant(b, (db) => writeNote.enqueue(db, { body: "b's" }, { uniqueKey: "k" }))).isNew).toBe(
      true,
    );
    app.work([writeNote]);
    await until(async () => (await count("job_history")) === 2);
    expect((await app.withTenant(a, (db) => writeNote.enqueue(db, { body: "again" }, { uniqueKey: "k" }))).isNew).toBe(
      true,
    );
  });

  it("of a suspended tenant waits", async () => {
    await app.withTenant(a, (db) => writeNote.enqueue(db, { body: "suspended" }));
    await server.asOwner("update rowhouse.tenants set status = 'suspended' where id = $1", [a]);
    app.work([writeNote]);
    await app.withTenant(b, (db) => writeNote.enqueue(db, { body: "other" }));
    await until(async () => (await count("job_history")) === 1);
    expect(await count("ready_jobs")).toBe(1);
    await server.asOwner("update rowhouse.tenants set status = 'active' where id = $1", [a]);
    await until(async () => (await count("job_history")) === 2);
    expect(await bodies(a)).toEqual(["suspended"]);
  });

  it("finds its payload as it was given", async () => {
    const seen: unknown[] = [];
    const any = defineJob("any", { payload: z.unknown(), run: ({ payload }) => Promise.resolve(seen.push(payload)) });
    const payload = {
      when: new Date(5),
      big: 12345678901234567890n,
      $date: "mine",
      $$: 1,
      list: [null, { $bigint: "x" }],
      text: "ü\n",
    };
    await app.withTenant(a, (db) => any.enqueue(db, payload));
    app.work([any]);
    await until(() => seen.length === 1);
    expect(seen).toEqual([payload]);
  });
});

/** A promise that is settled from outside. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe("a worker", () => {
  it("gives every tenant its turn, however much another has", async () => {
    const order: string[] = [];
    const turn = defineJob("turn", {
      payload: z.string(),
      run: ({ payload }) => Promise.resolve(order.push(payload)),
    });
    await app.withTenant(a, (db) =>
      turn.enqueueMany(
        db,
        Array.from({ length: 1_000 }, () => "a"),
      ),
    );
    await app.withTenant(b, (db) => turn.enqueueMany(db, ["b", "b", "b"]));
    app.work([turn], { concurrency: 1 });
    await until(() => order.length === 1_003);
    // Of four jobs the fourth is b's second at the latest.
    expect(order.slice(0, 8).filter((name) => name === "b")).toHaveLength(3);
  });

  it("takes a newcomer's job next, while another tenant fills every place", async () => {
    const order: string[] = [];
    const gates = { a: gate(), b: gate() };
    const slow = defineJob("slow", {
      payload: z.enum(["a", "b"]),
      async run({ payload }) {
        order.push(payload);
        await gates[payload].opened;
      },
    });
    const worker = app.work([slow], { concurrency: 2 });
    await app.withTenant(a, (db) =>
      slow.enqueueMany(
        db,
        Array.from({ length: 50 }, () => "a" as const),
      ),
    );
    await until(() => order.length === 2);
    await app.withTenant(b, (db) => slow.enqueue(db, "b"));
    worker.wake();
    await until(async () => (await count("claims")) > 1, "the newcomer's claim");
    gates.a.open();
    await until(() => order.includes("b"));
    // Those that ended made room for it before the rest of the other's.
    expect(order.indexOf("b")).toBeLessThanOrEqual(4);
    gates.b.open();
  });

  it("runs a tenant's urgent jobs first", async () => {
    const order: string[] = [];
    const job = defineJob("ordered", {
      payload: z.string(),
      run: ({ payload }) => Promise.resolve(order.push(payload)),
    });
    await app.withTenant(a, async (db) => {
      await job.enqueue(db, "low", { priority: "low" });
      await job.enqueue(db, "normal");
      await job.enqueue(db, "urgent", { priority: "urgent" });
      await job.enqueue(db, "high", { priority: "high" });
    });
    app.work([job], { concurrency: 1 });
    await until(() => order.length === 4);
    expect(order).toEqual(["urgent", "high", "normal", "low"]);
  });

  it("that stops waits for what it is at, gives back the rest, and leaves no trace", async () => {
    const { open, opened } = gate();
    const begun: number[] = [];
    const long = defineJob("long", {
      payload: z.number(),
      async run({ payload, db }) {
        begun.push(payload);
        await opened;
        await db.insert(notes).values({ body: `${payload}` });
      },
    });
    await app.withTenant(a, (db) => long.enqueueMany(db, [1, 2, 3, 4, 5]));
    const worker = app.work([long], { concurrency: 2 });
    await until(() => begun.length === 2);
    const stopped = worker.stop();
    await until(async () => (await count("ready_jobs")) === 3, "what was not begun");
    open();
    await stopped;
    expect((await bodies(a)).sort()).toEqual(begun.map(String).sort());
    expect([await count("workers"), await count("claims"), await count("jobs")]).toEqual([0, 0, 3]);
    const { rows } = await server.asOwner("select distinct attempts from rowhouse.jobs");
    expect(rows).toEqual([{ attempts: 0 }]);
  });

  it("interrupts at the deadline, without an attempt being counted", async () => {
    const reasons: unknown[] = [];
    const endless = defineJob("endless", {
      payload: z.number(),
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason);
            reject(signal.reason as Error);
          });
        }),
    });
    await app.withTenant(a, (db) => endless.enqueue(db, 1));
    const worker = app.work([endless]);
    await until(async () => (await count("claims")) === 1);
    await worker.stop(10);
    expect(reasons).toMatchObject([{ code: "ERR_JOB_INTERRUPTED" }]);
    const { rows } = await server.asOwner("select attempts, failures from rowhouse.jobs");
    expect(rows).toEqual([{ attempts: 0, failures: [] }]);
    expect([await count("ready_jobs"), await count("workers")]).toEqual([1, 0]);
  });

  it("aborts what takes longer than its timeout, and counts the attempt", async () => {
    const slow = defineJob("too-slow", {
      payload: z.null(),
      timeout: 20,
      retry: { attempts: 1 },
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
    await app.withTenant(a, (db) => slow.enqueue(db, null));
    app.work([slow]);
    await until(async () => (await count("dead_jobs")) === 1);
    const { rows } = await server.asOwner<{ failures: { message: string }[] }>(
      "select failures from rowhouse.dead_jobs",
    );
    expect(rows[0]!.failures[0]!.message).toBe('JobTimeout: Job "too-slow" took longer than its timeout of 20 ms.');
  });

  it("that was taken for dead aborts what it is at, begins anew, and its late handler changes nothing", async () => {
    const { open, opened } = gate();
    const seen: { attempt: number; reason?: unknown }[] = [];
    const job = defineJob("slept-through", {
      payload: z.null(),
      async run({ db, attempt, signal }) {
        const entry: { attempt: number; reason?: unknown } = { attempt };
        seen.push(entry);
        await db.insert(notes).values({ body: `attempt ${attempt}` });
        if (attempt > 1) return;
        signal.addEventListener("abort", () => (entry.reason = signal.reason));
        await opened;
      },
    });
    await app.withTenant(a, (db) => job.enqueue(db, null));
    app.work([job], { ttl: 300 });
    await until(() => seen.length === 1);
    await using other = await connectSql(server.workerUrl, "test");
    await until(async () => {
      // Its next sign of life would come in between now and then.
      await server.asOwner("update rowhouse.workers set expires_at = now() - interval '1 s'");
      return (await createQueueStore(other).rescue()) > 0;
    }, "the rescue");
    await until(() => seen.length === 2);
    open();
    await until(async () => (await count("job_history")) === 1);
    expect(await bodies(a)).toEqual(["attempt 2"]);
    expect(seen[0]!.reason).toMatchObject({ code: "ERR_JOB_LEASE_LOST" });
    await until(async () => (await count("claims")) === 0);
  });

  it("goes on after its connections were cut", async () => {
    app.work([writeNote]);
    for (let round = 0; round < 3; round += 1) {
      await app.withTenant(a, (db) => writeNote.enqueue(db, { body: `round ${round}` }));
      await until(async () => (await count("job_history")) === round + 1);
      await server.asAdmin(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
    }
  });

  it("leaves alone what it does not know, and queues that are not its own", async () => {
    const unknown = defineJob("unknown", { payload: z.null(), run: () => Promise.resolve() });
    const elsewhere = defineJob("elsewhere", { payload: z.null(), queue: "other", run: () => Promise.resolve() });
    await app.withTenant(a, async (db) => {
      await unknown.enqueue(db, null);
      await elsewhere.enqueue(db, null);
      await writeNote.enqueue(db, { body: "mine" });
    });
    app.work([writeNote, elsewhere], { queues: ["default"] });
    await until(async () => (await count("job_history")) === 1);
    expect(await count("ready_jobs")).toBe(2);
  });
});

describe("enqueue", () => {
  it("refuses what cannot be stored or does not fit, with the place", async () => {
    const any = defineJob("any", { payload: z.any(), run: async () => {} });
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const [payload, message] of [
      [{ a: ["x\0"] }, 'payload.a[0] of job "any" is a string with a NUL character'],
      ["\ud800", "half of a surrogate pair"],
      [{ n: NaN }, 'payload.n of job "any" is NaN'],
      [{ f: () => 1 }, "is a function"],
      [new Map(), "is a Map"],
      [circle, "part of a circle"],
      ["x".repeat(70_000), "has 70002 bytes, and may have 65536"],
    ] as const) {
      const refused = app.withTenant(a, (db) => any.enqueue(db, payload));
      await expect(refused).rejects.toMatchObject({
        code: "ERR_JOB_INVALID",
        message: expect.stringContaining(message),
      });
    }
    await expect(app.withTenant(a, (db) => writeNote.enqueue(db, { body: 7 as never }))).rejects.toMatchObject({
      code: "ERR_JOB_INVALID",
      message: expect.stringContaining('The payload of job "write-note" does not fit its schema: payload.body: '),
    });
    expect(await count("jobs")).toBe(0);
  });
});
