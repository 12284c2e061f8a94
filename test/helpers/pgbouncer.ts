import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PgBouncer extends AsyncDisposable {
  /** The same database and login as `url`, by way of PgBouncer. */
  urlFor(url: string): string;
}

/** The program's path, or undefined where there is none. `.ci/run` sets TEST_REQUIRE_PGBOUNCER, and then that is a failure. */
export function findPgBouncer(): string | undefined {
  const found = ["/usr/sbin/pgbouncer", "pgbouncer"].find((name) => spawnSync(name, ["--version"]).status === 0);
  if (found === undefined && process.env["TEST_REQUIRE_PGBOUNCER"]) throw new Error("there is no PgBouncer");
  return found;
}

/**
 * Starts the real PgBouncer in transaction mode, with fewer server connections than its clients want.
 * @param url of the server behind it; its login is that of every client
 */
export async function startPgBouncer(program: string, url: string, poolSize: number): Promise<PgBouncer> {
  const folder = await mkdtemp(path.join(tmpdir(), "rowhouse-pgbouncer-"));
  const { hostname, port, username, password } = new URL(url);
  const listen = await freePort();
  const file = (name: string) => path.join(folder, name);
  await writeFile(file("users.txt"), `"${username}" "${decodeURIComponent(password)}"\n`);
  await writeFile(
    file("pgbouncer.ini"),
    `[databases]
* = host=${hostname} port=${port || "5432"}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = plain
auth_file = ${file("users.txt")}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 100
`,
  );
  for (const [entry, mode] of [
    ["", 0o755],
    ["users.txt", 0o644],
    ["pgbouncer.ini", 0o644],
  ] as const)
    await chmod(file(entry), mode);
  // It refuses to run as root; nobody can read what it needs.
  const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn(program, [file("pgbouncer.ini")], { stdio: "ignore", ...asNobody });
  await untilItListens(child, listen);
  return {
    urlFor(direct) {
      const pooled = new URL(direct);
      pooled.hostname = "127.0.0.1";
      pooled.port = String(listen);
      return pooled.href;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      await rm(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

async function untilItListens(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended at once with ${child.exitCode}`);
    const socket = createConnection(port, "127.0.0.1");
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error("PgBouncer does not listen");
}
