import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/jobs/define-job.ts";
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
