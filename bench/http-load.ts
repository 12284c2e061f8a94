import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import autocannon from "autocannon";
import type { Contender } from "./contenders.ts";

const CONNECTIONS = 16;

/** A contender that serves, in a process of its own. */
export interface Running {
  readonly child: ChildProcess;
  readonly port: number;
}

export async function start(
  name: Contender,
  { appUrl, ownerUrl }: { readonly appUrl: string; readonly ownerUrl: string },
): Promise<Running> {
  const child = fork(path.join(import.meta.dirname, "http-server.ts"), [name, appUrl, ownerUrl], {
    execArgv: [
      "--import",
      "tsx",
      "--expose-gc",
      ...(process.env["PROFILE"] ? ["--cpu-prof", "--cpu-prof-dir=bench/results/profiles"] : []),
    ],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { child, port };
}

/**
 * Sends requests over 16 connections for a time, or a number of them.
 * @throws when one of them fails: the figures would mean nothing
 */
export async function load(
  port: number,
  requests: autocannon.Request[],
  amount: { duration: number } | { amount: number },
) {
  const result = await autocannon({ url: `http://127.0.0.1:${port}`, connections: CONNECTIONS, requests, ...amount });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers were not 2xx, ${result.errors} failed: the figures would mean nothing`);
  }
  return result;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
};

/** The process's heap after a garbage collection, in MiB. */
export async function heapUsed(child: ChildProcess): Promise<number> {
  child.send("memory");
  const [{ memory }] = (await once(child, "message")) as [{ memory: NodeJS.MemoryUsage }];
  return memory.heapUsed / 1024 / 1024;
}
