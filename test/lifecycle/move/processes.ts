import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { MoveOptions } from "../../../src/lifecycle/move/move-tenant.ts";

/** One of the programs of this folder, as a process of its own. */
export interface Program {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly lines: readonly string[];
  /** Resolves with a line that it prints, or has printed; rejects when it ends without. */
  line(wanted: (line: string) => boolean): Promise<string>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly errors: () => string;
}

function start(program: string, args: readonly string[]): Program {
  const file = path.join(import.meta.dirname, program);
  const child = spawn(process.execPath, ["--import", "tsx", "--conditions=rowhouse-source", file, ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const output = createInterface(child.stdout).on("line", (line) => void lines.push(line));
  const ended = once(child, "close").then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals);
  const line = (wanted: (line: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      const found = lines.find(wanted);
      if (found !== undefined) return resolve(found);
      output.on("line", (text) => wanted(text) && resolve(text));
      void ended.then(() => reject(new Error(`${program} ended: ${lines.join("\n")}\n${errors}`)));
    });
  return { child, lines, line, ended, errors: () => errors };
}

export const startMove = (options: MoveOptions & { tenant: string }, killAt = "none"): Program =>
  start("move-program.ts", [JSON.stringify(options), killAt]);

export const startTeller = (url: string, tenantId: string, mode: "run" | "step" = "run"): Program =>
  start("ledger-program.ts", [url, tenantId, mode]);
