import { text } from "drizzle-orm/pg-core";
import { z } from "zod";
import { createRowhouse, defineFeature, defineJob, tenantTable } from "../dist/index.js";
import { connectSql } from "../src/database/sql-connection.ts";
import { createTenant } from "../src/lifecycle/tenants.ts";
import { migrate } from "../src/migrations/migrate.ts";
import { type Contender, CONCURRENCY, counter, type OpenContender, percentiles, POOL } from "./job-contender.ts";
import { FOLDERS } from "./placement-data.ts";

/** Jobs are spread over so many tenants, who take turns. */
const TENANTS = 200;

const notes = tenantTable("notes", { body: text().notNull() });

export const rowhouseQueue: OpenContender = async (server) => {
  await migrate({ ownerUrl: server.ownerUrl, rolePrefix: "rowhouse", folders: FOLDERS });
  const owner = await connectSql(server.ownerUrl, "bench");
  const tenants: string[] = [];
  for (let n = 0; n < TENANTS; n += 1) tenants.push((await createTenant(owner, { slug: `queue-${n}` })).id);

  const hits = counter();
  let onPickup = () => {};
  const payload = z.object({ n: z.number() });
  const jobs = {
    noop: defineJob("bench.noop", {
      payload,
      run() {
        hits.hit();
        onPickup();
        return Promise.resolve();
      },
    }),
    write: defineJob("bench.write", {
      payload,
      async run({ db, payload: { n } }) {
        await db.insert(notes).values({ body: String(n) });
        hits.hit();
      },
    }),
  };
  const feature = defineFeature({ name: "bench", jobs: Object.values(jobs) });
  const rowhouse = await createRowhouse({
    ...{ url: server.appUrl, features: [feature], resolvers: [], log: "error", poolSize: POOL, tenantLimit: POOL },
  });
  const work = () => rowhouse.work({ url: server.workerUrl, concurrency: CONCURRENCY });

  const contender: Contender = {
    name: "rowhouse",
    atMost: Infinity,
    isTransactional: true,
    async enqueue(kind, count) {
      const payloads = Array.from({ length: count / TENANTS }, (_, n) => ({ n }));
      for (const tenant of tenants) await rowhouse.withTenant(tenant, (db) => jobs[kind].enqueueMany(db, payloads));
    },
    async drain(_kind, count) {
      const all = hits.expect(count);
      const begun = performance.now();
      const worker = work();
      await all;
      while ((await owner.query("select from rowhouse.jobs limit 1")).rowCount > 0);
      const seconds = (performance.now() - begun) / 1_000;
      await worker.stop();
      return seconds;
    },
    async pickups(count) {
      const worker = work();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const times: number[] = [];
      for (let n = 0; n < count; n += 1) {
        const picked = new Promise<void>((resolve) => (onPickup = resolve));
        const begun = performance.now();
        await rowhouse.withTenant(tenants[n % TENANTS]!, (db) => jobs.noop.enqueue(db, { n }));
        await picked;
        times.push(performance.now() - begun);
      }
      await worker.stop();
      return percentiles(times);
    },
    async close() {
      await rowhouse.close();
      await owner.end();
    },
  };
  return contender;
};
