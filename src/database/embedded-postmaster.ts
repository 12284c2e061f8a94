import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { open, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { EmbeddedPostgresFailed } from "../errors.ts";
import type { PostgresBinaries } from "./embedded-binaries.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";
import type { ServerUser } from "./embedded-home.ts";
import { readPostmaster, releasePidFile } from "./embedded-pid-file.ts";

const run = promisify(execFile);

/** What it takes to run a server process. */
export interface PostmasterOptions {
  readonly binaries: PostgresBinaries;
  readonly cluster: EmbeddedCluster;
  readonly user: ServerUser | undefined;
  /** False gives up what was committed when the machine crashes, for tests. */
  readonly fsync: boolean;
}

/**
 * Starts a server and waits until it takes connections, crash recovery included. It listens on 127.0.0.1 alone, and on
 * no socket file.
 *
 * @returns undefined, or what the server logged before it gave up
 */
export async function launchPostmaster(options: PostmasterOptions, port: number): Promise<string | undefined> {
  const { binaries, cluster, user, fsync } = options;
  await releasePidFile(cluster.data);
  await using log = await open(cluster.log, "a", 0o600);
  const { size } = await log.stat();
  const settings = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=",
    "timezone=UTC",
    "log_timezone=UTC",
    ...(fsync ? [] : ["fsync=off", "full_page_writes=off"]),
  ];
  const child = spawn(binaries.postgres, ["-D", cluster.data, ...settings.flatMap((setting) => ["-c", setting])], {
    ...user,
    cwd: cluster.data,
    // Of its own: Ctrl-C reaches the whole process group of the terminal, and the server has to outlive what uses it.
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    windowsHide: true,
  });
  child.unref();
  let problem: string | undefined;
  child.once("error", (error) => (problem = error.message));
  child.once("exit", (code, signal) => (problem = `exit ${code ?? signal}`));
  while (problem === undefined) {
    const postmaster = await readPostmaster(cluster.data);
    if (postmaster?.pid === child.pid && postmaster?.isReady) return undefined;
    await sleep(20);
  }
  const text = (await readFile(cluster.log)).subarray(size).toString("utf8").trim();
  return text === "" ? problem : text;
}

/**
 * Stops the server that runs on the cluster, rolling back what is open, and waits for its end. One that does not end
 * in order is ended as by a crash, which loses nothing: a shutdown that arrives while the server recovers from the crash
 * of one of its processes never ends by itself (seen with 18.4).
 */
export async function stopPostmaster(options: PostmasterOptions): Promise<void> {
  const { binaries, cluster, user } = options;
  const stop = (mode: string) => {
    const args = ["stop", "-D", cluster.data, "-m", mode, "-w", "-t", "15"];
    return run(binaries.pgCtl, args, { ...user, cwd: cluster.data });
  };
  try {
    await stop("fast").catch(() => stop("immediate"));
  } catch (error) {
    // Somebody killed it meanwhile.
    if ((await readPostmaster(cluster.data)) === undefined) return;
    const { stderr = "" } = error as { stderr?: string };
    throw new EmbeddedPostgresFailed(`The embedded PostgreSQL does not stop (${stderr.trim()}). See ${cluster.log}.`, {
      cause: error,
    });
  }
}

const FIRST_PORT = 20_000;
const PORTS = 10_000;

/**
 * Ports to try, the one that was used last time first. Then the project's own, by its folder: clear of 5432 and of the
 * ports that operating systems lend to outgoing connections.
 */
export async function* candidatePorts(cluster: EmbeddedCluster): AsyncGenerator<number, undefined> {
  const last = Number(await readFile(cluster.portFile, "utf8").catch(() => ""));
  if (last > 0) yield last;
  const own = createHash("sha256").update(cluster.directory).digest().readUInt32BE();
  for (let step = 0; step < PORTS; step += 1) yield FIRST_PORT + ((own + step) % PORTS);
}

export async function rememberPort(cluster: EmbeddedCluster, port: number): Promise<void> {
  await writeFile(cluster.portFile, String(port), { mode: 0o600 });
}

export function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
