/**
 * A worker, as a process that can be killed and stopped: `worker-program.ts APP_URL WORKER_URL TTL`. Its jobs write one row each, and now and then fail,
 * dawdle, or kill the process.
 */
import { sql } from "drizzle-orm";
import { z } from "zod";
import { createDatabase } from "../../src/database/database.ts";
import { createSteadyConnection } from "../../src/database/steady-connection.ts";
import { createLogger } from "../../src/http/request-log.ts";
import { defineJob } from "../../src/jobs/define-job.ts";
import { startWorker } from "../../src/jobs/worker.ts";
import { createTenantContext } from "../../src/tenancy/context.ts";
import { createRegistry } from "../../src/tenancy/registry.ts";

export const effect = defineJob("chaos.effect", {
  payload: z.object({ n: z.number(), mischief: z.enum(["none", "fail", "dawdle", "kill"]) }),
  retry: { attempts: 50, backoff: { first: 50, max: 500 } },
  async run({ db, payload, idempotencyKey, attempt, signal }) {
    await db.execute(sql`insert into notes (body) values (${`${idempotencyKey} ${Math.random()}`})`);
    if (attempt > 1) return;
    switch (payload.mischief) {
      case "none":
        return;
      case "fail":
        throw new Error("on purpose");
      case "kill":
        process.kill(process.pid, "SIGKILL");
        return;
      case "dawdle":
        await new Promise((resolve) => {
          setTimeout(resolve, 300);
          signal.addEventListener("abort", resolve);
        });
    }
  },
});

if (process.argv[1]?.endsWith("worker-program.ts")) {
  const [url, workerUrl, ttl] = process.argv.slice(2) as [string, string, string];
  const log = createLogger("error", { write: (line) => void process.stderr.write(line) });
  const database = createDatabase({
    ...{ url, poolSize: 6, tenantLimit: 6, preparedStatements: true, applicationName: "chaos handlers" },
    onError: (error) => log.error({ err: error }),
  });
  const connect = (applicationName: string) => createSteadyConnection({ url: workerUrl, applicationName });
  const [claiming, reporting] = [connect("chaos claims"), connect("chaos reports")];
  const worker = startWorker({
    ...{ database, registry: createRegistry(database), context: createTenantContext(), log, claiming, reporting },
    ...{ jobs: [effect], concurrency: 5, name: `chaos ${process.pid}`, ttl: Number(ttl) },
  });
  process.once("SIGTERM", () => {
    void worker
      .stop(1_000)
      .then(() => Promise.all([database.close(), claiming.end(), reporting.end()]))
      .then(() => process.exit(0));
  });
  console.log("ready");
}
