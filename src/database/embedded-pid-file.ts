import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The server process of a data directory, as its `postmaster.pid` tells. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** False while it starts up, recovers or shuts down. */
  readonly isReady: boolean;
}

// Above the largest process id of any system: it can belong to nobody.
const NOBODY = 2_147_483_646;

/**
 * Finds the server that runs on a data directory.
 *
 * The lines of `postmaster.pid` are: process id, data directory, start time, port, socket folder, listen address, shared
 * memory key, status (PostgreSQL's src/include/utils/pidfile.h).
 *
 * @returns undefined when there is none: no file, or a stale one
 */
export async function readPostmaster(data: string): Promise<Postmaster | undefined> {
  const [pid = "", directory, , port, , , , status = ""] = (await readPidFile(data)).split("\n");
  // The file of a data directory that was copied or moved tells of another server.
  if (directory !== data || !(await isPostgres(Number(pid)))) return undefined;
  return { pid: Number(pid), port: Number(port), isReady: status.trim() === "ready" };
}

/** How long a server takes, at the very most, from making the file to writing into it, in ms. */
const EMPTY_FOR = 5_000;

/**
 * Makes way where PostgreSQL would refuse to start because of what a crash has left.
 *
 * The process id in `postmaster.pid` may have passed to some other program of this user: it is replaced by one of
 * nobody's. The rest of the file stays, since PostgreSQL finds the shared memory of the crashed server through it, and
 * still refuses if a process of it is alive. An empty file, of a server that came no further, is removed.
 */
export async function releasePidFile(data: string): Promise<void> {
  const file = join(data, "postmaster.pid");
  const info = await stat(file).catch(() => undefined);
  if (info === undefined || (await readPostmaster(data)) !== undefined) return;
  const text = await readPidFile(data);
  if (text === "") {
    if (Date.now() - info.mtimeMs > EMPTY_FOR) await rm(file, { force: true });
    return;
  }
  // PostgreSQL itself passes over the id of no process.
  if (!isAlive(Number(text.split("\n")[0]))) return;
  const draft = `${file}.${randomUUID()}`;
  // wx: the data directory may belong to another user than this process, who must not choose what gets written.
  await writeFile(draft, text.replace(/^.*/, String(NOBODY)), { flag: "wx" });
  // Another process may have started a server meanwhile.
  if ((await readPidFile(data)) === text) await rename(draft, file);
  else await rm(draft);
}

/** True when there is a process with this id, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readPidFile(data: string): Promise<string> {
  return readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
}

/** True when the process runs PostgreSQL, as far as this system tells. */
async function isPostgres(pid: number): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return false;
  const { name, state } = await describeProcess(pid);
  // A zombie is the entry of an ended process that its parent has not collected; in a container perhaps nobody ever does.
  return name.startsWith("postgres") && !state.startsWith("Z");
}

async function describeProcess(pid: number): Promise<{ name: string; state: string }> {
  try {
    // `15855 (postgres) S 1 …`, proc(5)
    const [, name = "", state = ""] = /^\d+ \((.*)\) (\S+)/s.exec(await readFile(`/proc/${pid}/stat`, "utf8")) ?? [];
    return { name, state };
  } catch {
    // Not Linux: ask the system's own tool. Where there is none, an id that is in use has to be taken at its word.
    const { stdout } = await run("ps", ["-p", String(pid), "-o", "state=,comm="]).catch(() => ({
      stdout: "S postgres",
    }));
    const [, state = "", path = ""] = /^\s*(\S+)\s+(.*)/.exec(stdout) ?? [];
    return { name: basename(path.trim()), state };
  }
}
