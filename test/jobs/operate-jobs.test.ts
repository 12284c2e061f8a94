import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { SqlConnection } from "../../src/database/sql-connection.ts";
import { defineJob } from "../../src/jobs/define-job.ts";
import {
  cancelJobs,
  controlJobs,
  discardDeadJobs,
  jobStats,
  listJobs,
  retryDeadJobs,
  showJob,
} from "../../src/jobs/operate-jobs.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { createJobServer, type JobServer, until } from "./job-server.ts";

let server: TestDatabase;
let owner: SqlConnection;
let app: JobServer;
let tenant: { id: string; slug: string };

beforeAll(async () => {
  server = await createTestDatabase();
  owner = await server.connectAsOwner();
});

afterAll(async () => {
  await owner.end();
  await server.drop();
});

beforeEach(async () => {
  await owner.query(
    "truncate rowhouse.jobs, rowhouse.ready_jobs, rowhouse.waiting_jobs, rowhouse.claims, rowhouse.workers, rowhouse.dead_jobs, rowhouse.job_history, rowhouse.job_controls",
  );
  app = createJobServer(server);
  tenant = await server.createTenant();
});

let isMended = false;
const fragile = defineJob("fragile", {
  payload: z.object({ n: z.number() }),
  queue: "mail",
  retry: { attempts: 1 },
  run: () => (isMended ? Promise.resolve() : Promise.reject(new Error("broken"))),
});

async function die(count: number, options = {}): Promise<string[]> {
  isMended = false;
  const worker = app.work([fragile]);
  const payloads = Array.from({ length: count }, (_, n) => ({ n }));
  const made = await app.withTenant(tenant.id, (db) => fragile.enqueueMany(db, payloads, options));
  const dead = () => owner.query("select from rowhouse.dead_jobs");
  await until(async () => (await dead()).rowCount === count);
  await worker.stop();
  return made.map(({ id }) => id);
}

describe("an operator", () => {
  it("sees where jobs are, of whom, and why they failed", async () => {
    await die(2);
    await app.withTenant(tenant.id, async (db) => {
      await fragile.enqueue(db, { n: 5 }, { delay: 60_000 });
      await fragile.enqueue(db, { n: 6 });
    });
    expect(await jobStats(owner)).toMatchObject([
      { queue: "mail", type: "fragile", ready: 1, waiting: 1, running: 0, dead: 2, doneLastHour: 0 },
    ]);
    const list = await listJobs(owner, {});
    expect(list.map(({ state }) => state).sort()).toEqual(["dead", "dead", "ready", "waiting"]);
    const [first] = await listJobs(owner, { tenantId: tenant.id, queue: "mail", type: "fragile", state: "dead" }, 1);
    expect(first).toMatchObject({ tenant: tenant.slug, attempts: 1, maxAttempts: 1, failure: "Error: broken" });
    expect(await showJob(owner, first!.id)).toMatchObject({
      state: "dead",
      payload: { n: 0 },
      failures: [{ attempt: 1, message: "Error: broken", stack: expect.stringContaining("operate-jobs.test.ts") }],
    });
    expect(await listJobs(owner, { queue: "other" })).toEqual([]);
    await expect(showJob(owner, tenant.id)).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  });

  it("brings dead jobs back, one, or all that fit, with their history", async () => {
    const [one, ...others] = await die(3);
    isMended = true;
    expect(await retryDeadJobs(owner, { ids: [one!] })).toEqual([one]);
    expect(await retryDeadJobs(owner, { queue: "other" })).toEqual([]);
    expect([...(await retryDeadJobs(owner, { tenantId: tenant.id, type: "fragile" }))].sort()).toEqual(others.sort());
    const { rows } = await owner.query("select failures from rowhouse.jobs");
    expect(rows).toHaveLength(3);
    app.work([fragile]);
    await until(async () => (await owner.query("select from rowhouse.job_history")).rowCount === 3);
    expect(await showJob(owner, one!)).toMatchObject({ state: "done" });
  });

  it("leaves a dead job where it is whose unique key another has by now", async () => {
    isMended = false;
    const worker = app.work([fragile]);
    const enqueue = () => app.withTenant(tenant.id, (db) => fragile.enqueue(db, { n: 1 }, { uniqueKey: "k" }));
    const { id } = await enqueue();
    await until(async () => (await owner.query("select from rowhouse.dead_jobs")).rowCount === 1);
    await worker.stop();
    const { id: other } = await enqueue();
    expect(await retryDeadJobs(owner, { ids: [id] })).toEqual([]);
    expect((await owner.query("select from rowhouse.dead_jobs")).rowCount).toBe(1);
    await cancelJobs(owner, [other]);
    expect(await retryDeadJobs(owner, { ids: [id] })).toEqual([id]);
  });

  it("discards dead jobs, and cancels others, which the history keeps", async () => {
    const [one, two] = await die(2);
    expect(await discardDeadJobs(owner, { ids: [one!] })).toEqual([one]);
    expect(await discardDeadJobs(owner, {})).toEqual([two]);
    const { id } = await app.withTenant(tenant.id, (db) => fragile.enqueue(db, { n: 1 }, { delay: 60_000 }));
    expect(await cancelJobs(owner, [id, one!])).toEqual([id]);
    expect((await owner.query("select from rowhouse.waiting_jobs")).rowCount).toBe(0);
    const { rows } = await owner.query("select outcome from rowhouse.job_history order by finished_at");
    expect(rows).toEqual([{ outcome: "discarded" }, { outcome: "discarded" }, { outcome: "cancelled" }]);
  });

  it("pauses and resumes a running worker's queue, without a deploy", async () => {
    isMended = true;
    await controlJobs(owner, { queue: "mail" }, { isPaused: true });
    app.work([fragile]);
    await app.withTenant(tenant.id, (db) => fragile.enqueue(db, { n: 1 }));
    const other = defineJob("other", { payload: z.null(), run: () => Promise.resolve() });
    app.work([other]);
    await app.withTenant(tenant.id, (db) => other.enqueue(db, null));
    await until(
      async () => (await owner.query("select from rowhouse.job_history where type = 'other'")).rowCount === 1,
    );
    expect((await owner.query("select from rowhouse.ready_jobs")).rowCount).toBe(1);
    await controlJobs(owner, { queue: "mail" }, { isPaused: false });
    await until(
      async () => (await owner.query("select from rowhouse.job_history where type = 'fragile'")).rowCount === 1,
    );
  });

  it("keeps limits that are not spoken of, and lifts those that are", async () => {
    const control = async () =>
      (await owner.query("select is_paused, max_running, max_running_per_tenant, weight from rowhouse.job_controls"))
        .rows;
    await controlJobs(owner, { queue: "mail" }, { maxRunning: 5, maxRunningPerTenant: 2 });
    await controlJobs(owner, { queue: "mail" }, { isPaused: true, maxRunning: null });
    expect(await control()).toEqual([{ is_paused: true, max_running: null, max_running_per_tenant: 2, weight: null }]);
    for (const [filter, limits, message] of [
      [{ queue: "mail" }, { maxRunning: -1 }, "maxRunning is -1"],
      [{ queue: "mail" }, { maxRunning: 1.5 }, "maxRunning is 1.5"],
      [{ queue: "mail" }, { weight: 2 }, "A weight is for a tenant alone"],
      [{ tenantId: tenant.id }, { weight: 101 }, "weight is 101"],
    ] as const) {
      await expect(controlJobs(owner, filter, limits)).rejects.toMatchObject({
        code: "ERR_JOB_INVALID",
        message: expect.stringContaining(message),
      });
    }
  });
});
