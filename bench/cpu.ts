/** Development aid: CPU time of the server process for each request, which a busy machine disturbs less than rates. */
import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import autocannon from "autocannon";
import { CONTENDERS } from "./contenders.ts";
import { openBenchDatabase } from "./setup.ts";

await using database = await openBenchDatabase();
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
    const a = await cpu();
    await run(5000);
    const b = await cpu();
    rounds.push([(b.user - a.user) / 5000, (b.system - a.system) / 5000].map((x) => x.toFixed(0)).join("+"));
  }
  console.log(name, "us/request user+sys:", rounds.join("  "));
  child.disconnect();
}
