import { onTestFinished } from "vitest";
import { createDatabase, type DatabaseOptions } from "../../src/database/database.ts";
import { createSteadyConnection } from "../../src/database/steady-connection.ts";
import { createLogger } from "../../src/http/request-log.ts";
import type { JobDefinition } from "../../src/jobs/define-job.ts";
import { startWorker, type Worker, type WorkerOptions } from "../../src/jobs/worker.ts";
import { createTenantContext } from "../../src/tenancy/context.ts";
import { createRegistry } from "../../src/tenancy/registry.ts";
import { createWithTenant, type WithTenant } from "../../src/tenancy/with-tenant.ts";
import type { TestDatabase } from "../helpers/database.ts";

export interface JobServer {
  readonly withTenant: WithTenant;
  readonly logs: Record<string, unknown>[];
  /** Starts a worker that is stopped with the test. */
  work(jobs: readonly JobDefinition[], options?: Partial<WorkerOptions>): Worker;
}

/** The parts of an application with jobs, on a database of the test's; closed with the test. */
export function createJobServer(server: TestDatabase, options: Partial<DatabaseOptions> = {}): JobServer {
  const logs: Record<string, unknown>[] = [];
  const log = createLogger("debug", { write: (line) => void logs.push(JSON.parse(line) as Record<string, unknown>) });
  const database = createDatabase({
    ...{ url: server.appUrl, poolSize: 8, tenantLimit: 8, preparedStatements: true, applicationName: "test" },
    onError: (error) => log.error({ err: error }, "in the background"),
    ...options,
  });
  onTestFinished(() => database.close());
  const registry = createRegistry(database);
  const context = createTenantContext();
  return {
    withTenant: createWithTenant(database, registry, context),
    logs,
    work(jobs, workerOptions = {}) {
      const connect = (applicationName: string) => createSteadyConnection({ url: server.workerUrl, applicationName });
      const [claiming, reporting] = [connect("claiming"), connect("reporting")];
      const parts = { database, registry, context, log, claiming, reporting, name: "test" };
      const worker = startWorker({ ...parts, jobs, ...workerOptions });
      onTestFinished(async () => {
        await worker.stop(1_000);
        await claiming.end();
        await reporting.end();
      });
      return worker;
    },
  };
}

/** Waits until something is so. */
export async function until(condition: () => boolean | Promise<boolean>, what = "it"): Promise<void> {
  for (let tries = 0; tries < 1_500; tries += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} never came about`);
}
