import { hostname } from "node:os";
import { listenOn } from "../database/listener.ts";
import { createSteadyConnection } from "../database/steady-connection.ts";
import type { JobDefinition } from "./define-job.ts";
import { JOB_CHANNEL } from "./job-notifier.ts";
import type { RunDeps } from "./run-job.ts";
import { startWorker } from "./worker.ts";

export interface JobWorkerOptions {
  /** Connects as the worker role, past any transaction pooler: WORKER_DATABASE_URL. */
  readonly url: string;
  /** @defaultValue every queue */
  readonly queues?: readonly string[];
  /** Handlers at work at the same time. @defaultValue 10 */
  readonly concurrency?: number;
  /** What people see of it. @defaultValue the host's name and the process id */
  readonly name?: string;
}

/** A worker that runs. It has three connections of its own; its handlers take theirs from the application's pool. */
export interface JobWorker {
  /** Tells it that there may be work. */
  wake(): void;
  /**
   * Claims nothing more, waits for the handlers at work, and interrupts those that are not done in time: their jobs run again, without an attempt
   * being counted.
   * @param deadline milliseconds. @defaultValue 25,000
   */
  stop(deadline?: number): Promise<void>;
}

/** Starts a worker and what wakes it. @throws DefinitionInvalid when two jobs have the same name */
export function startJobWorker(
  deps: RunDeps & { readonly jobs: readonly JobDefinition[] },
  { url, name = `${hostname()}:${process.pid}`, ...options }: JobWorkerOptions,
): JobWorker {
  const connect = (applicationName: string) => createSteadyConnection({ url, applicationName });
  const claiming = connect("rowhouse worker (claims)");
  const reporting = connect("rowhouse worker (reports)");
  const worker = startWorker({ ...deps, ...options, name, claiming, reporting });
  const listener = listenOn({
    url,
    channel: JOB_CHANNEL,
    applicationName: "rowhouse worker (wake-up)",
    onWake: () => worker.wake(),
    onError: (error) => deps.log.warn({ err: error }, "the worker's wake-up was lost; it polls meanwhile"),
  });
  let stopping: Promise<void> | undefined;
  async function stop(deadline?: number): Promise<void> {
    await listener.close();
    await worker.stop(deadline);
    await claiming.end();
    await reporting.end();
  }
  return { wake: () => worker.wake(), stop: (deadline) => (stopping ??= stop(deadline)) };
}
