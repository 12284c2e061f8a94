import { type Command, InvalidArgumentError } from "commander";
import { requireUrl } from "../config.ts";
import { createRowhouse } from "../rowhouse.ts";
import { loadApp } from "./load-app.ts";
import { withServers } from "./with-servers.ts";

interface WorkerFlags {
  readonly app: string;
  readonly queue?: string[];
  readonly concurrency: number;
}

export function addWorker(program: Command): void {
  program
    .command("worker")
    .description("run the application's jobs, until SIGTERM or SIGINT")
    .requiredOption(
      "--app <module>",
      "a JavaScript module that exports `features`, and `migrations` where there are some",
    )
    .option("--queue <queues...>", "only these queues (default: all)")
    .option("--concurrency <n>", "handlers at work at the same time", toCount, 10)
    .addHelpText(
      "after",
      "\nOn a signal it claims nothing more, waits up to 25 seconds for what it is at, and gives back the rest.\n\n" +
        "Example:\n  rowhouse worker --app ./dist/app.js --concurrency 20",
    )
    .action((flags: WorkerFlags) => work(flags));
}

function work({ app, queue, concurrency }: WorkerFlags): Promise<void> {
  return withServers(async ({ config, servers: { urls } }) => {
    const { features, migrations } = await loadApp(app);
    await using rowhouse = await createRowhouse({
      ...{ url: urls.app, features, migrations, resolvers: [], log: config.logLevel },
      ...{ poolSize: Math.max(config.poolSize, concurrency), preparedStatements: config.preparedStatements },
    });
    await rowhouse.ready();
    rowhouse.work({ url: requireUrl(urls, "worker"), concurrency, ...(queue ? { queues: queue } : {}) });
    rowhouse.log.info(
      { jobs: rowhouse.features.flatMap(({ jobs }) => jobs.map(({ name }) => name)), concurrency },
      "the worker runs",
    );
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
    });
    rowhouse.log.info("the worker stops");
  });
}

function toCount(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 999.");
}
