import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { WithTenant } from "../../src/tenancy/with-tenant.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { effect } from "./worker-program.ts";

export interface ChaosOptions {
  readonly server: TestDatabase;
  readonly withTenant: WithTenant;
  readonly tenants: readonly string[];
  readonly workers: number;
  /** For how long there is chaos, in milliseconds. */
  readonly duration: number;
  /** After how long a silent worker is taken for dead, in milliseconds. */
  readonly ttl: number;
}

export interface ChaosTotals {
  readonly enqueued: number;
  readonly kills: number;
  readonly stops: number;
  readonly terms: number;
  readonly cuts: number;
  /** Ids of jobs whose effect is not there, or there more than once. */
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  readonly dead: number;
  readonly stuck: number;
}

const PROGRAM = path.join(import.meta.dirname, "worker-program.ts");
/** How long the queue may take to become empty when the chaos is over, in milliseconds. */
const CALM_MS = 60_000;

/**
 * Real workers on a real queue, with producers, while at random a worker is killed, stopped for longer than it may be silent, told to end,
 * or its connections are cut; then calm until the queue is empty. Every job's effect is to be there once.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosTotals> {
  const { server, tenants, duration, ttl } = options;
  const totals = { kills: 0, stops: 0, terms: 0, cuts: 0 };
  const enqueued: string[] = [];
  const end = performance.now() + duration;
  const isOn = () => performance.now() < end;
  const workers = await Promise.all(Array.from({ length: options.workers }, () => startProcess(server, ttl)));

  async function produce(): Promise<void> {
    for (let n = 0; isOn(); n += 1) {
      const tenant = tenants[n % tenants.length]!;
      const mischief = (["fail", "dawdle", "kill"] as const)[Math.floor(Math.random() * 3)]!;
      const wishes = Array.from({ length: 1 + Math.floor(Math.random() * 20) }, (_, index) => ({
        n: index,
        mischief: Math.random() < (mischief === "kill" ? 0.005 : 0.05) ? mischief : ("none" as const),
      }));
      // A producer's own connection may be cut too: what it was not told of does not count, but may be there.
      const made = await options.withTenant(tenant, (db) => effect.enqueueMany(db, wishes)).catch(() => []);
      enqueued.push(...made.map(({ id }) => id));
      await sleep(Math.random() * 40);
    }
  }

  async function disturb(): Promise<void> {
    while (isOn()) {
      const place = Math.floor(Math.random() * workers.length);
      await mischiefTo(workers, place, { server, ttl, totals });
      await sleep(Math.random() * 300);
    }
  }

  /** A job may have killed its worker. */
  async function revive(): Promise<void> {
    while (isOn()) {
      for (const [place, child] of workers.entries()) {
        if (child.exitCode !== null || child.signalCode !== null) workers[place] = await startProcess(server, ttl);
      }
      await sleep(50);
    }
  }

  await Promise.all([produce(), disturb(), revive()]);
  for (const [place, child] of workers.entries()) {
    child.kill("SIGCONT");
    if (child.exitCode !== null || child.signalCode !== null) workers[place] = await startProcess(server, ttl);
  }
  await calm(server, workers, ttl);
  if (process.env["CHAOS_LOG"]) {
    const { rows } = await server.asOwner(
      `select j.id, j.attempts, j.failures, c.lease, c.worker_id, cardinality(c.job_ids) as size, c.claimed_at, w.name, w.started_at, w.expires_at, clock_timestamp() as now
       from rowhouse.jobs j left join rowhouse.claims c on j.id = any (c.job_ids) left join rowhouse.workers w on w.id = c.worker_id`,
    );
    console.log(JSON.stringify(rows, null, 1));
  }
  await Promise.all(workers.map(endProcess));
  return { enqueued: enqueued.length, ...totals, ...(await effects(server, enqueued)) };
}

async function mischiefTo(
  workers: ChildProcess[],
  place: number,
  { server, ttl, totals }: Pick<ChaosOptions, "server" | "ttl"> & { totals: Record<string, number> },
): Promise<void> {
  const child = workers[place]!;
  const kind = (["kills", "stops", "terms", "cuts"] as const)[Math.floor(Math.random() * 4)]!;
  totals[kind] = totals[kind]! + 1;
  switch (kind) {
    case "kills":
      child.kill("SIGKILL");
      return;
    case "terms":
      child.kill("SIGTERM");
      return;
    case "stops":
      child.kill("SIGSTOP");
      await sleep(ttl * (0.5 + Math.random()));
      child.kill("SIGCONT");
      return;
    case "cuts":
      await server.asAdmin(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'chaos%' and random() < 0.3`,
      );
  }
}

async function startProcess({ appUrl, workerUrl }: TestDatabase, ttl: number): Promise<ChildProcess> {
  const args = ["--import", "tsx", "--conditions=rowhouse-source", PROGRAM, appUrl, workerUrl, String(ttl)];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", process.env["CHAOS_LOG"] ? "inherit" : "ignore"],
  });
  await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  return child;
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGCONT");
  child.kill("SIGTERM");
  await ended;
}

/** Until nothing is in the queue; a job may still kill its worker meanwhile. */
async function calm(server: TestDatabase, workers: ChildProcess[], ttl: number): Promise<void> {
  for (const end = performance.now() + CALM_MS; performance.now() < end;) {
    const { rows } = await server.asOwner<{ left: string }>("select count(*) as left from rowhouse.jobs");
    if (rows[0]!.left === "0") return;
    for (const [place, child] of workers.entries()) {
      if (child.exitCode !== null || child.signalCode !== null) workers[place] = await startProcess(server, ttl);
    }
    await sleep(200);
  }
}

async function effects(server: TestDatabase, enqueued: readonly string[]) {
  const { rows } = await server.asOwner<{ id: string; times: string }>(
    "select split_part(body, ' ', 1) as id, count(*) as times from public.notes group by 1",
  );
  const times = new Map(rows.map((row) => [row.id, Number(row.times)]));
  const count = async (table: string) =>
    Number((await server.asOwner<{ n: string }>(`select count(*) as n from rowhouse.${table}`)).rows[0]!.n);
  return {
    lost: enqueued.filter((id) => !times.has(id)),
    twice: [...times].filter(([, n]) => n > 1).map(([id]) => id),
    dead: await count("dead_jobs"),
    stuck: (await count("jobs")) + (await count("ready_jobs")) + (await count("waiting_jobs")),
  };
}
