/** Development aid: CPU time of the server process for each request, which a busy machine disturbs less than rates. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import autocannon from "autocannon";
import { CONTENDERS } from "./contenders.ts";
import { openBenchDatabase } from "./setup.ts";

await using database = await openBenchDatabase();
/** CPU time of all of the machine's PostgreSQL processes, in microseconds (Linux; a tick is 10 ms). */
function postgresCpu(): number {
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      if (!stat.includes("(postgres)")) continue;
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks * 10_000;
}

const only = process.env["ONLY"]?.split(",");
for (const name of CONTENDERS.filter((n) => !only || only.includes(n))) {
  const child = fork(path.join(import.meta.dirname, "http-server.ts"), [name, database.appUrl, database.ownerUrl], {
    execArgv: [
      "--import",
      "tsx",
      ...(process.env["PROFILE"] ? ["--cpu-prof", `--cpu-prof-dir=${process.env["PROFILE"]}`] : []),
    ],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  const requests = database.tenants.flatMap((t) =>
    t.rows
      .slice(0, 5)
      .map((id) => ({ method: "GET" as const, path: `/notes/${id}`, headers: { "x-bench-tenant": t.id } })),
  );
  const cpu = async () => {
    child.send("cpu");
    return ((await once(child, "message")) as [{ cpu: NodeJS.CpuUsage }])[0].cpu;
  };
  const run = (amount: number) => autocannon({ url: `http://127.0.0.1:${port}`, connections: 16, requests, amount });
  await run(4000);
  const rounds = [];
  for (let i = 0; i < 3; i++) {
    const [a, postgresBefore, mine, at] = [await cpu(), postgresCpu(), process.cpuUsage(), performance.now()];
    await run(5000);
    const [b, postgresAfter, me] = [await cpu(), postgresCpu(), process.cpuUsage(mine)];
    const parts = [
      b.user - a.user,
      b.system - a.system,
      postgresAfter - postgresBefore,
      me.user + me.system,
      (performance.now() - at) * 1000,
    ];
    rounds.push(parts.map((x) => (x / 5000).toFixed(0)).join("+"));
  }
  console.log(name, "us/request user+sys+postgres+client+wall:", rounds.join("  "));
  child.disconnect();
}
