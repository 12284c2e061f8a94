/**
 * `npm run bench:http`: requests per second over HTTP, ours and each contender in turn on the same rows, 16 connections.
 * Prints medians and ratios and writes results/http.json. See README.md for the method.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type autocannon from "autocannon";
import { CONTENDERS, type Contender } from "./contenders.ts";
import { heapUsed, load, median, type Running, start } from "./http-load.ts";
import { type BenchDatabase, openBenchDatabase } from "./setup.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SECONDS = Number(process.env["SECONDS"] ?? 4);
const MEMORY_REQUESTS = 100_000;

type Request = autocannon.Request;
const WORK = ["get", "list", "post"] as const;
type Work = (typeof WORK)[number];

function requestsFor(work: Work, { tenants }: BenchDatabase): Request[] {
  return tenants.flatMap((tenant, n) => {
    const headers = { "x-bench-tenant": tenant.id, "content-type": "application/json" };
    switch (work) {
      case "get":
        return tenant.rows.slice(0, 5).map((id) => ({ method: "GET" as const, path: `/notes/${id}`, headers }));
      case "list":
        return [{ method: "GET" as const, path: "/notes", headers }];
      case "post":
        return [{ method: "POST" as const, path: "/notes", headers, body: JSON.stringify({ body: `posted ${n}` }) }];
    }
  });
}

await using database = await openBenchDatabase();
const rates = new Map<string, number[]>();
const running = new Map<Contender, Running>();
for (const name of CONTENDERS) running.set(name, await start(name, database));

for (const work of WORK) {
  const requests = requestsFor(work, database);
  for (const { port } of running.values()) await load(port, requests, { duration: 2 });
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, { port }] of running) {
      const { requests: perSecond } = await load(port, requests, { duration: SECONDS });
      const key = `${work} ${name}`;
      rates.set(key, [...(rates.get(key) ?? []), perSecond.average]);
    }
  }
}

const rate = (work: Work, name: Contender) => median(rates.get(`${work} ${name}`) ?? []);
const rows: { contender: string; metric: string; unit: string; median: number }[] = WORK.flatMap((work) =>
  CONTENDERS.map((contender) => ({
    contender,
    metric: work,
    unit: "requests/s",
    median: Math.round(rate(work, contender)),
  })),
);

const ours = running.get("rowhouse");
if (ours && process.env["MEMORY"] !== "off") {
  const requests = requestsFor("get", database);
  await load(ours.port, requests, { amount: 20_000 });
  const before = await heapUsed(ours.child);
  await load(ours.port, requests, { amount: MEMORY_REQUESTS });
  const after = await heapUsed(ours.child);
  rows.push({ contender: "rowhouse", metric: "heap before", unit: "MiB", median: Number(before.toFixed(1)) });
  rows.push({
    contender: "rowhouse",
    metric: `heap after ${MEMORY_REQUESTS} requests`,
    unit: "MiB",
    median: Number(after.toFixed(1)),
  });
}
for (const { child } of running.values()) child.disconnect();

const ratio = (work: Work, name: Contender) => Number((rate(work, "rowhouse") / rate(work, name)).toFixed(2));
const ratios = {
  get_vs_tutorial: ratio("get", "tutorial"),
  get_vs_drizzle: ratio("get", "drizzle"),
  get_vs_pg: ratio("get", "pg"),
  list_vs_tutorial: ratio("list", "tutorial"),
  list_vs_drizzle: ratio("list", "drizzle"),
  post_vs_tutorial: ratio("post", "tutorial"),
  post_vs_drizzle: ratio("post", "drizzle"),
};
console.table(rows);
console.table(ratios);
await mkdir(path.join(import.meta.dirname, "results"), { recursive: true });
await writeFile(path.join(import.meta.dirname, "results/http.json"), JSON.stringify({ rows, ratios }, null, 2) + "\n");
