import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("embedded-program.ts", import.meta.url));

export interface EmbeddedProcess {
  readonly urls: { readonly superuser: string; readonly admin: string };
  readonly port: number;
  readonly directory: string;
  /** Signals the whole process group, as a terminal does on Ctrl-C. */
  interrupt(signal: NodeJS.Signals): void;
  /** The next line that the program prints. */
  nextLine(): Promise<string>;
  write(text: string): void;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface EmbeddedProcessOptions {
  readonly mode?: "drains";
  readonly uid?: number;
  readonly gid?: number;
}

/** Starts embedded-program.ts in a process group of its own, and waits until it has its server. */
export async function startEmbeddedProcess(
  directory: string,
  { mode, ...user }: EmbeddedProcessOptions = {},
): Promise<EmbeddedProcess> {
  const args = ["--import", "tsx", "--conditions=rowhouse-source", program, directory, ...(mode ? [mode] : [])];
  const child = spawn(process.execPath, args, { ...user, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  const exited = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the program ended: ${Buffer.concat(errors).toString()}`);
    return value;
  };
  const ready = JSON.parse(await nextLine()) as Pick<EmbeddedProcess, "urls" | "port" | "directory">;
  return {
    ...ready,
    nextLine,
    write: (text) => void child.stdin.write(text),
    interrupt: (signal) => void process.kill(-child.pid!, signal),
    exited,
  };
}

/** @returns the process id in `postmaster.pid`, whether or not there is such a process; undefined without the file */
export async function postmasterPid(directory: string): Promise<number | undefined> {
  const text = await readFile(join(directory, "postgres", "data", "postmaster.pid"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : Number(text.split("\n")[0]);
}
