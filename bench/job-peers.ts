import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { Logger, makeWorkerUtils, run, type RunnerOptions } from "graphile-worker";
import pg from "pg";
import PgBoss from "pg-boss";
import { connectSql } from "../src/database/sql-connection.ts";
import {
  type Contender,
  CONCURRENCY,
  counter,
  type Kind,
  type OpenContender,
  percentiles,
  POOL,
} from "./job-contender.ts";

/** Jobs that are handed over in one call, where a peer takes many. */
const BATCH = 1_000;

const batches = (count: number): { n: number }[][] =>
  Array.from({ length: Math.ceil(count / BATCH) }, (_, batch) =>
    Array.from({ length: Math.min(BATCH, count - batch * BATCH) }, (_one, n) => ({ n: batch * BATCH + n })),
  );

/** One row in a transaction: what the jobs that write do. */
async function writeRow(pool: pg.Pool, n: number): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("insert into bench_peers.notes (body) values ($1)", [String(n)]);
    await client.query("commit");
  } finally {
    client.release();
  }
}

async function prepare(ownerUrl: string): Promise<pg.Pool> {
  await using owner = await connectSql(ownerUrl, "bench");
  await owner.query(
    `create schema if not exists bench_peers;
     create table if not exists bench_peers.notes (id bigint generated always as identity primary key, body text not null)`,
  );
  return new pg.Pool({ connectionString: ownerUrl, max: POOL });
}

/** Its fastest documented mode (a local queue of 500 and batched completion), or as it comes. */
export const graphile =
  (mode: "fastest" | "default"): OpenContender =>
  async ({ ownerUrl }) => {
    const pool = await prepare(ownerUrl);
    const utils = await makeWorkerUtils({ connectionString: ownerUrl, logger: new Logger(() => () => {}) });
    await utils.migrate();
    const hits = counter();
    let onPickup = () => {};
    const fastest = {
      localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    };
    const options: RunnerOptions = {
      preset: {
        worker: {
          ...{ connectionString: ownerUrl, maxPoolSize: POOL, concurrentJobs: CONCURRENCY },
          ...(mode === "fastest" ? fastest : {}),
        },
      },
      logger: new Logger(() => () => {}),
      noHandleSignals: true,
      taskList: {
        noop: () => {
          hits.hit();
          onPickup();
        },
        write: async (payload) => {
          await writeRow(pool, (payload as { n: number }).n);
          hits.hit();
        },
      },
    };
    const contender: Contender = {
      name: `graphile-${mode}`,
      atMost: mode === "fastest" ? Infinity : 20_000,
      isTransactional: true,
      async enqueue(kind, count) {
        for (const batch of batches(count)) {
          await utils.addJobs(batch.map((payload) => ({ identifier: kind, payload })));
        }
      },
      async drain(_kind, count) {
        const all = hits.expect(count);
        const begun = performance.now();
        const runner = await run(options);
        await all;
        while ((await pool.query("select from graphile_worker._private_jobs limit 1")).rowCount! > 0);
        const seconds = (performance.now() - begun) / 1_000;
        await runner.stop();
        return seconds;
      },
      async pickups(count) {
        const runner = await run(options);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        const times: number[] = [];
        for (let n = 0; n < count; n += 1) {
          const picked = new Promise<void>((resolve) => (onPickup = resolve));
          const begun = performance.now();
          await utils.addJob("noop", { n });
          await picked;
          times.push(performance.now() - begun);
        }
        await runner.stop();
        return percentiles(times);
      },
      async close() {
        await utils.release();
        await pool.end();
      },
    };
    return contender;
  };

export const pgboss: OpenContender = async ({ ownerUrl }) => {
  const pool = await prepare(ownerUrl);
  const boss = new PgBoss({ connectionString: ownerUrl, max: POOL });
  boss.on("error", () => {});
  await boss.start();
  for (const kind of ["noop", "write"]) await boss.createQueue(kind);
  const hits = counter();
  let onPickup = () => {};
  /** Batches of 500 for each of four fetchers, as its documentation has it for throughput. */
  const start = async (kind: Kind) => {
    for (let n = 0; n < 4; n += 1) {
      await boss.work<{ n: number }>(kind, { batchSize: 500, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        if (kind === "write") await Promise.all(jobs.map((job) => writeRow(pool, job.data.n)));
        for (const _job of jobs) hits.hit();
        onPickup();
      });
    }
  };
  const contender: Contender = {
    name: "pg-boss",
    atMost: 20_000,
    isTransactional: true,
    async enqueue(kind, count) {
      for (const batch of batches(count)) await boss.insert(batch.map((data) => ({ name: kind, data })));
    },
    async drain(kind, count) {
      const all = hits.expect(count);
      const begun = performance.now();
      await start(kind);
      await all;
      while ((await pool.query("select from pgboss.job where state < 'completed' limit 1")).rowCount! > 0);
      const seconds = (performance.now() - begun) / 1_000;
      await boss.offWork(kind);
      return seconds;
    },
    async pickups(count) {
      await start("noop");
      const times: number[] = [];
      for (let n = 0; n < Math.min(count, 30); n += 1) {
        const picked = new Promise<void>((resolve) => (onPickup = resolve));
        const begun = performance.now();
        await boss.send("noop", { n });
        await picked;
        times.push(performance.now() - begun);
      }
      await boss.offWork("noop");
      return percentiles(times);
    },
    async close() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
  return contender;
};

/** Not there where no Redis answers on this machine. */
export const bullmq: OpenContender = async () => {
  const redis = new Redis({
    host: "127.0.0.1",
    port: 6379,
    maxRetriesPerRequest: null,
    retryStrategy: () => null,
    lazyConnect: true,
  });
  redis.on("error", () => {});
  const answers = await redis.connect().then(
    () => true,
    () => false,
  );
  if (!answers) {
    console.log("skipped: no Redis");
    return undefined;
  }
  const connection = redis;
  const queue = new Queue(`bench-${process.pid}`, { connection, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  const hits = counter();
  let onPickup = () => {};
  const start = async () => {
    const worker = new Worker(
      queue.name,
      () => {
        hits.hit();
        onPickup();
        return Promise.resolve();
      },
      { connection, concurrency: CONCURRENCY },
    );
    await worker.waitUntilReady();
    return worker;
  };
  const contender: Contender = {
    name: "bullmq",
    atMost: 50_000,
    isTransactional: false,
    async enqueue(kind, count) {
      for (const batch of batches(count)) await queue.addBulk(batch.map((data) => ({ name: kind, data })));
    },
    async drain(_kind, count) {
      const all = hits.expect(count);
      const begun = performance.now();
      const worker = await start();
      await all;
      while ((await queue.getActiveCount()) > 0);
      const seconds = (performance.now() - begun) / 1_000;
      await worker.close();
      return seconds;
    },
    async pickups(count) {
      const worker = await start();
      const times: number[] = [];
      for (let n = 0; n < count; n += 1) {
        const picked = new Promise<void>((resolve) => (onPickup = resolve));
        const begun = performance.now();
        await queue.add("noop", { n });
        await picked;
        times.push(performance.now() - begun);
      }
      await worker.close();
      return percentiles(times);
    },
    async close() {
      await queue.obliterate({ force: true });
      await queue.close();
      redis.disconnect();
    },
  };
  return contender;
};
