/**
 * `npm run bench:jobs`: the queue against graphile-worker, pg-boss and, where Redis answers, BullMQ, in turn on the same machine. Prints medians and ratios and
 * writes results/jobs.json. See README.md for the method.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { median } from "./http-load.ts";
import { bullmq, graphile, pgboss } from "./job-peers.ts";
import { rowhouseQueue } from "./job-rowhouse.ts";
import type { Contender } from "./job-contender.ts";
import { openBenchServer } from "./setup.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const JOBS = Number(process.env["JOBS"] ?? 100_000);
const PICKUPS = Number(process.env["PICKUPS"] ?? 300);

await using server = await openBenchServer();
const contenders: Contender[] = [];
for (const open of [rowhouseQueue, graphile("fastest"), graphile("default"), pgboss, bullmq]) {
  const contender = await open(server);
  if (contender) contenders.push(contender);
}
const figures = new Map<string, number[]>();
const note = (contender: Contender, metric: string, value: number) => {
  const key = `${contender.name} ${metric}`;
  figures.set(key, [...(figures.get(key) ?? []), value]);
};

for (let round = 0; round < ROUNDS; round += 1) {
  for (const contender of contenders) {
    // What is slow is given less, so that the run ends the same day: jobs per second are what is compared.
    const jobs = Math.min(JOBS, contender.atMost);
    const enqueued = await timed(() => contender.enqueue("noop", jobs));
    note(contender, "enqueue/s", jobs / enqueued);
    note(contender, "noop/s", jobs / (await contender.drain("noop", jobs)));
    if (contender.isTransactional) {
      await contender.enqueue("write", jobs / 5);
      note(contender, "write/s", jobs / 5 / (await contender.drain("write", jobs / 5)));
    }
  }
}
for (const contender of contenders) {
  for (const [metric, value] of Object.entries(await contender.pickups(PICKUPS)))
    note(contender, `pickup ${metric} ms`, value);
}
for (const contender of contenders) await contender.close();

const rows = [...figures].map(([key, values]) => {
  const [contender = "", ...metric] = key.split(" ");
  return { contender, metric: metric.join(" "), median: Number(median(values).toPrecision(4)) };
});
const of = (contender: string, metric: string) => median(figures.get(`${contender} ${metric}`) ?? []);
/** Undefined where the peer did not run. */
const ratio = (metric: string, peer: string) => {
  const value = of("rowhouse", metric) / of(peer, metric);
  return Number.isFinite(value) ? Number(value.toFixed(2)) : undefined;
};
const ratios = {
  noop_vs_graphile_fastest: ratio("noop/s", "graphile-fastest"),
  noop_vs_graphile_default: ratio("noop/s", "graphile-default"),
  noop_vs_pgboss: ratio("noop/s", "pg-boss"),
  noop_vs_bullmq: ratio("noop/s", "bullmq"),
  transactional_vs_graphile: ratio("write/s", "graphile-fastest"),
  enqueue_vs_pgboss: ratio("enqueue/s", "pg-boss"),
  pickup_p50_vs_graphile: ratio("pickup p50 ms", "graphile-default"),
};
console.table(rows);
console.table(ratios);
await mkdir(path.join(import.meta.dirname, "results"), { recursive: true });
await writeFile(path.join(import.meta.dirname, "results/jobs.json"), `${JSON.stringify({ rows, ratios }, null, 2)}\n`);
process.exit(0);

/** @returns seconds */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1_000;
}
