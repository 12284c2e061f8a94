/**
 * `npm run bench:placement`: the same queries for the same rows of a tenant in the shared tables and in a schema of its own, then what
 * a request costs in both, and with many schemas. Prints medians and ratios and writes results/placement.json. See README.md for the method.
 */
import { readFile, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { createRowhouse } from "../dist/index.js";
import { tenantSchema } from "../src/database/role-names.ts";
import { connectSql } from "../src/database/sql-connection.ts";
import { moveTenant } from "../src/lifecycle/move/move-tenant.ts";
import { createDedicatedTenant } from "../src/lifecycle/tenants.ts";
import { heapUsed, load, median, type Running, start } from "./http-load.ts";
import { FOLDERS, LARGE, openPlacementDatabase, QUERIES } from "./placement-data.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SECONDS = Number(process.env["SECONDS"] ?? 4);
const SCHEMAS = (process.env["SCHEMAS"] ?? "1,100,500").split(",").map(Number);
/** How long a query is repeated in a round, in milliseconds; at least three times. */
const QUERY_TIME = 500;

type Query = keyof typeof QUERIES;
const rows: { metric: string; placement: string; unit: string; median: number }[] = [];
const ratios: Record<string, number> = {};

await using database = await openPlacementDatabase();
const { shared, dedicated, ownerUrl, adminUrl } = database;
const PLACES = { shared, schema: dedicated } as const;
await using owner = await connectSql(ownerUrl, "bench");

await measureQueries();
await measureRequests();
await measureSchemas();
await measureMove();

console.table(rows);
console.table(ratios);
await mkdir(path.join(import.meta.dirname, "results"), { recursive: true });
const text = JSON.stringify({ rows, ratios }, null, 2);
await writeFile(path.join(import.meta.dirname, "results/placement.json"), `${text}\n`);

async function idsIn(schema: string, tenant: string, table: string): Promise<string[]> {
  const { rows: found } = await owner.query<{ id: string }>(
    `select id from ${schema}.${table} where tenant_id = $1 order by id limit 1000`,
    [tenant],
  );
  return found.map(({ id }) => id);
}

async function measureQueries(): Promise<void> {
  await using rowhouse = await createRowhouse({ url: database.appUrl, resolvers: [], log: "silent" });
  const ids = {
    shared: await idsIn("public", shared, "documents"),
    schema: await idsIn(tenantSchema(dedicated), dedicated, "documents"),
  };
  let counter = 0;
  const once = async (query: Query, place: keyof typeof PLACES) => {
    counter += 7_919;
    const statement = QUERIES[query](counter, ids[place][counter % 1_000]!);
    await rowhouse.withTenant(PLACES[place], (db) => db.execute(statement));
  };
  for (const query of Object.keys(QUERIES) as Query[]) {
    const times: Record<keyof typeof PLACES, number[]> = { shared: [], schema: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const place of ["shared", "schema"] as const) {
        const begun = performance.now();
        let count = 0;
        for (; count < 3 || performance.now() - begun < QUERY_TIME; count += 1) await once(query, place);
        // The first round warms up.
        if (round > 0) times[place].push((performance.now() - begun) / count);
      }
    }
    for (const place of ["shared", "schema"] as const) {
      rows.push({ metric: query, placement: place, unit: "ms", median: Number(median(times[place]).toFixed(3)) });
    }
    ratios[`${query}_schema_vs_shared`] = Number((median(times.shared) / median(times.schema)).toFixed(2));
  }
}

async function requestsFor(schema: string, tenant: string) {
  const ids = await idsIn(schema, tenant, "notes");
  const headers = { "x-bench-tenant": tenant };
  return ids.slice(0, 50).map((id) => ({ method: "GET" as const, path: `/notes/${id}`, headers }));
}

async function measureRequests(): Promise<void> {
  const server = await start("rowhouse", database);
  const requests = {
    shared: await requestsFor("public", shared),
    schema: await requestsFor(tenantSchema(dedicated), dedicated),
  };
  const rates: Record<keyof typeof PLACES, number[]> = { shared: [], schema: [] };
  for (const place of ["shared", "schema"] as const) await load(server.port, requests[place], { duration: 2 });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const place of ["shared", "schema"] as const) {
      const { requests: perSecond } = await load(server.port, requests[place], { duration: SECONDS });
      rates[place].push(perSecond.average);
    }
  }
  server.child.disconnect();
  for (const place of ["shared", "schema"] as const) {
    rows.push({ metric: "request", placement: place, unit: "requests/s", median: Math.round(median(rates[place])) });
  }
  ratios["request_schema_vs_shared"] = Number((median(rates.schema) / median(rates.shared)).toFixed(2));
}

/** Memory of the application's server processes that nobody else shares, in MiB; NaN where there is no /proc. */
async function backendMemory(): Promise<number> {
  const { rows: backends } = await owner.query<{ pid: number }>(
    "select pid from pg_stat_activity where usename = 'rowhouse_app' and datname = current_database()",
  );
  const texts = await Promise.all(
    backends.map(({ pid }) => readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "")),
  );
  const kib = texts.map((one) => Number(/^Private_Dirty: +(\d+) kB/m.exec(one)?.[1] ?? NaN));
  return kib.reduce((sum, value) => sum + value, 0) / 1024 / backends.length;
}

async function measureSchemas(): Promise<void> {
  const tenants = [dedicated];
  for (const count of SCHEMAS) {
    const begun = performance.now();
    const made = count - tenants.length;
    while (tenants.length < count) {
      const slug = `dedicated-${tenants.length}`;
      const options = { adminUrl, ownerUrl, rolePrefix: "rowhouse", folders: FOLDERS };
      const { id } = await createDedicatedTenant(owner, { slug }, options);
      await owner.query(
        `insert into ${tenantSchema(id)}.notes (tenant_id, body) select $1, 'note ' || n from generate_series(1, 50) n`,
        [id],
      );
      tenants.push(id);
    }
    const placement = `${count} schemas`;
    if (made > 0) {
      const each = (performance.now() - begun) / made;
      rows.push({ metric: "make a schema", placement, unit: "ms", median: Math.round(each) });
    }
    await measureLoad(placement, tenants.slice(0, count));
  }
}

/** A new process each time: its memory is that of these tenants. */
async function measureLoad(placement: string, tenants: readonly string[]): Promise<void> {
  const server: Running = await start("rowhouse", database);
  const all: Awaited<ReturnType<typeof requestsFor>>[] = [];
  for (const tenant of tenants) all.push(await requestsFor(tenantSchema(tenant), tenant));
  // One request of each tenant after the other, so that every connection meets all of them.
  const requests = all[0]!.flatMap((_, index) => all.map((own) => own[index]!));
  await load(server.port, requests, { amount: Math.max(5_000, 40 * tenants.length) });
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.push((await load(server.port, requests, { duration: SECONDS })).requests.average);
  }
  const heap = await heapUsed(server.child);
  rows.push(
    { metric: "request", placement, unit: "requests/s", median: Math.round(median(rates)) },
    { metric: "application's heap", placement, unit: "MiB", median: Number(heap.toFixed(1)) },
    { metric: "memory of a connection", placement, unit: "MiB", median: Number((await backendMemory()).toFixed(1)) },
  );
  server.child.disconnect();
}

async function measureMove(): Promise<void> {
  const begun = performance.now();
  const { pause } = await moveTenant(shared, {
    to: "schema",
    ownerUrl,
    adminUrl,
    rolePrefix: "rowhouse",
    folders: FOLDERS,
  });
  const whole = (performance.now() - begun) / 1_000;
  rows.push(
    {
      metric: `move ${LARGE} rows: requests wait`,
      placement: "to schema",
      unit: "s",
      median: Number((pause / 1_000).toFixed(1)),
    },
    { metric: `move ${LARGE} rows: with erasing`, placement: "to schema", unit: "s", median: Number(whole.toFixed(1)) },
  );
}
