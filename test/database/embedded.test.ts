import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { isAlive, readPostmaster } from "../../src/database/embedded-pid-file.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../src/database/embedded.ts";
import { connectSql } from "../../src/database/sql-connection.ts";
import { postmasterPid, startEmbeddedProcess, type EmbeddedProcess } from "../helpers/embedded-process.ts";

let root: string;
let template: string;
let count = 0;

beforeAll(async () => {
  // In a project the folder is reachable for whom root runs the server as; so it has to be here.
  root = await realpath(await mkdtemp(join(tmpdir(), "rowhouse-embedded-")));
  execFileSync("chmod", ["711", root]);
  template = join(root, "template");
  await (await startEmbeddedPostgres({ directory: template, fsync: false })).stop();
  await rm(join(template, "postgres", "port"));
});

afterEach(killServers);

afterAll(async () => {
  await killServers();
  await rm(root, { recursive: true, force: true });
});

/** A test that failed may have left a server. */
async function killServers() {
  for (const name of await readdir(root)) {
    const running = await readPostmaster(join(root, name, "postgres", "data"));
    if (running) process.kill(running.pid, "SIGKILL");
  }
}

/** A project's folder in which a database has been made already: initdb takes seconds. */
function makeProject(): string {
  const directory = join(root, `project-${(count += 1)}`);
  execFileSync("cp", ["-a", template, directory]);
  return directory;
}

const dataOf = (directory: string) => join(directory, "postgres", "data");
const logOf = (directory: string) => readFile(join(directory, "postgres", "server.log"), "utf8");
const start = (directory: string) => startEmbeddedPostgres({ directory, fsync: false });

async function query(server: { urls: { superuser: string } }, text: string): Promise<Record<string, unknown>[]> {
  await using connection = await connectSql(server.urls.superuser, "test");
  return (await connection.query(text)).rows;
}

const putMarker = (server: EmbeddedPostgres | EmbeddedProcess, marker: string) =>
  query(server, `create table if not exists marker (name text); insert into marker values ('${marker}')`);

const markers = async (server: EmbeddedPostgres | EmbeddedProcess) =>
  (await query(server, "select name from marker order by name")).map((row) => row.name);

const onLinux = process.platform === "linux";

/** The ids of the machine's System V shared memory segments. */
const sharedMemory = async () =>
  (await readFile("/proc/sysvipc/shm", "utf8")).split("\n").map((line) => line.trim().split(/\s+/)[1]);

async function sharedMemoryOf(directory: string) {
  const lines = (await readFile(join(dataOf(directory), "postmaster.pid"), "utf8")).split("\n");
  return lines[6]?.trim().split(/\s+/)[1];
}

/** Kills without a chance to clean up, and waits for the end. */
async function killHard(process_: EmbeddedProcess) {
  process_.interrupt("SIGKILL");
  expect((await process_.exited).signal).toBe("SIGKILL");
}

describe("a server of the project's own", () => {
  test("is made in a folder that only its owner can list", async () => {
    const directory = join(root, "fresh", ".rowhouse");
    await using server = await start(directory);
    expect(server.directory).toBe(directory);
    const isRoot = process.getuid?.() === 0;
    expect((await stat(directory)).mode & 0o777).toBe(isRoot ? 0o711 : 0o700);
    expect((await stat(dataOf(directory))).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, "postgres", "passwords.json"))).mode & 0o777).toBe(0o600);
    expect(await readdir(directory)).toEqual(["postgres"]);
    expect((await readdir(join(directory, "postgres"))).sort()).toEqual([
      "data",
      "passwords.json",
      "port",
      "server.log",
    ]);
  });

  test("listens on 127.0.0.1 alone, on a port of its own, and on no socket file", async () => {
    await using server = await start(makeProject());
    expect(server.port).not.toBe(5432);
    const [row] = await query(
      server,
      `select current_setting('listen_addresses') as address, current_setting('unix_socket_directories') as sockets,
         current_setting('port')::int as port`,
    );
    expect(row).toEqual({ address: "127.0.0.1", sockets: "", port: server.port });
  });

  test("wants the password, which is another one in every project", async () => {
    await using server = await start(makeProject());
    expect(await query(server, "select system_user as who")).toEqual([{ who: "scram-sha-256:postgres" }]);
    for (const url of [server.urls.superuser, server.urls.admin]) {
      const forged = new URL(url);
      forged.password = "wrong";
      await expect(connectSql(forged.href, "test")).rejects.toMatchObject({
        cause: { message: expect.stringContaining("password authentication failed") },
      });
    }
    const passwords = JSON.parse(await readFile(join(server.directory, "postgres", "passwords.json"), "utf8"));
    expect(new Set(Object.values(passwords)).size).toBe(5);
    await using other = await start(join(root, "another", ".rowhouse"));
    expect(other.passwords.app).not.toBe(server.passwords.app);
  });

  test("gives an administrator who makes roles and databases and is no superuser", async () => {
    await using server = await startEmbeddedPostgres({ directory: makeProject(), rolePrefix: "acme", fsync: false });
    await using admin = await connectSql(server.urls.admin, "test");
    const { rows } = await admin.query(
      `select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication
       from pg_roles where rolname = current_user`,
    );
    expect(rows).toEqual([
      {
        rolname: "acme_admin",
        rolsuper: false,
        rolbypassrls: false,
        rolcreaterole: true,
        rolcreatedb: true,
        rolreplication: false,
      },
    ]);
    await admin.query("create role acme_probe");
    await admin.query("create database acme_probe");
    await expect(admin.query("create role acme_boss superuser")).rejects.toMatchObject({ cause: { code: "42501" } });
  });

  test("flushes to disk, unless it is for tests", async () => {
    const directory = makeProject();
    {
      await using server = await startEmbeddedPostgres({ directory });
      expect(await query(server, "show fsync")).toEqual([{ fsync: "on" }]);
      expect(await query(server, "show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
    }
    await using server = await start(directory);
    expect(await query(server, "show fsync")).toEqual([{ fsync: "off" }]);
  });

  test.runIf(process.getuid?.() === 0)("does not run as root", async () => {
    const directory = makeProject();
    await using _server = await start(directory);
    const { pid } = (await readPostmaster(dataOf(directory)))!;
    expect(Number(execFileSync("ps", ["-o", "uid=", "-p", String(pid)]))).toBeGreaterThan(0);
    expect((await stat(dataOf(directory))).uid).toBeGreaterThan(0);
    // What root writes lies where the server's user cannot put a link in its place.
    expect((await stat(join(directory, "postgres"))).uid).toBe(0);
  });
});

describe.runIf(process.getuid?.() === 0)("as root", () => {
  const user = (name: string) => ({
    uid: Number(execFileSync("id", ["-u", name])),
    gid: Number(execFileSync("id", ["-g", name])),
  });
  const uidOfServer = async (directory: string) =>
    Number(execFileSync("ps", ["-o", "uid=", "-p", String((await readPostmaster(dataOf(directory)))!.pid)]));

  test("the project's owner runs the server, if it has one that is not root", async () => {
    const project = join(root, "owned");
    await mkdir(project);
    await chown(project, user("nobody").uid, user("nobody").gid);
    await using server = await start(join(project, ".rowhouse"));
    expect(server.directory).toBe(join(project, ".rowhouse"));
    expect(await uidOfServer(server.directory)).toBe(user("nobody").uid);
  });

  test("data that is there already keeps its owner", async () => {
    const directory = makeProject();
    const { uid, gid } = user("daemon");
    execFileSync("chown", ["-R", `${uid}:${gid}`, dataOf(directory)]);
    await using _server = await start(directory);
    expect(await uidOfServer(directory)).toBe(uid);
  });

  test("a project that only root can enter has its data under /var/lib/rowhouse, and finds it again", async () => {
    const project = join(root, "shut");
    await mkdir(project, { mode: 0o700 });
    const first = await start(join(project, ".rowhouse"));
    try {
      expect(first.directory).toMatch(/^\/var\/lib\/rowhouse\/shut-[0-9a-f]{8}$/);
      expect(await readdir(project)).toEqual([]);
      await putMarker(first, "kept");
      await first.stop();
      await using second = await start(join(project, ".rowhouse"));
      expect(second.directory).toBe(first.directory);
      expect(await markers(second)).toEqual(["kept"]);
    } finally {
      await first.stop();
      await rm(first.directory, { recursive: true });
    }
  });

  test("an ordinary user has a server too, which runs as that user, in a folder that nobody else can enter", async () => {
    const project = join(root, "ordinary");
    await mkdir(project);
    const { uid, gid } = user("nobody");
    await chown(project, uid, gid);
    const directory = join(project, ".rowhouse");
    const program = await startEmbeddedProcess(directory, { uid, gid });
    expect(await uidOfServer(directory)).toBe(uid);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    await putMarker(program, "kept");
    program.interrupt("SIGINT");
    expect(await program.exited).toEqual({ code: null, signal: "SIGINT" });
    expect(await postmasterPid(directory)).toBeUndefined();
    // Root comes after: the data stays that user's.
    await using server = await start(directory);
    expect(await markers(server)).toEqual(["kept"]);
    expect(await uidOfServer(directory)).toBe(uid);
  });

  test("an ordinary user cannot use what root made, and is told so", async () => {
    const { uid, gid } = user("nobody");
    await expect(startEmbeddedProcess(makeProject(), { uid, gid })).rejects.toThrow(
      /EmbeddedPostgresFailed: The embedded PostgreSQL cannot work in .*EACCES.*if another user \(root, perhaps\) made it/,
    );
  });
});

describe("the data", () => {
  test("is kept from one run to the next, and so is the port", async () => {
    const directory = makeProject();
    const first = await start(directory);
    await putMarker(first, "kept");
    await first.stop();
    expect(await postmasterPid(directory)).toBeUndefined();
    await using second = await start(directory);
    expect(await markers(second)).toEqual(["kept"]);
    expect(second.port).toBe(first.port);
    expect(second.urls).toEqual(first.urls);
  });

  test("of two projects is apart, also when both run at once", async () => {
    await using one = await start(makeProject());
    await using two = await start(makeProject());
    expect(one.port).not.toBe(two.port);
    await putMarker(one, "one");
    await putMarker(two, "two");
    expect(await markers(one)).toEqual(["one"]);
    expect(await markers(two)).toEqual(["two"]);
  });

  test("of a project that is copied while its server runs gets a server of its own", async () => {
    await using original = await start(makeProject());
    await putMarker(original, "both");
    await query(original, "checkpoint");
    const copy = `${original.directory}-copy`;
    execFileSync("cp", ["-a", original.directory, copy]);
    await using copied = await start(copy);
    expect(copied.port).not.toBe(original.port);
    await putMarker(copied, "copy only");
    expect(await markers(original)).toEqual(["both"]);
    expect(await markers(copied)).toEqual(["both", "copy only"]);
  });
});

describe("a port that is taken", () => {
  let occupant: Server | undefined;

  afterEach(() => occupant?.close());

  test("is left to who has it, and the next one is remembered instead", async () => {
    const directory = makeProject();
    const first = await start(directory);
    await first.stop();
    occupant = createServer().listen(first.port, "127.0.0.1");
    await once(occupant, "listening");
    const second = await start(directory);
    expect(second.port).not.toBe(first.port);
    expect(await query(second, "select 1 as one")).toEqual([{ one: 1 }]);
    await second.stop();
    occupant.close();
    await once(occupant, "close");
    await using third = await start(directory);
    expect(third.port).toBe(second.port);
  });
});

describe("two processes of one project", () => {
  test("that begin at once, with nothing there yet, share one server; the last to leave stops it", async () => {
    const directory = join(root, "twice", ".rowhouse");
    const [one, two] = await Promise.all([startEmbeddedProcess(directory), startEmbeddedProcess(directory)]);
    expect(one.urls).toEqual(two.urls);
    await putMarker(one, "shared");
    expect(await markers(two)).toEqual(["shared"]);
    expect(await readdir(directory)).toEqual(["postgres"]);

    one.interrupt("SIGINT");
    await one.exited;
    expect(await markers(two)).toEqual(["shared"]);

    two.interrupt("SIGINT");
    await two.exited;
    expect(await postmasterPid(directory)).toBeUndefined();
  });

  test("that come and go at the same moment never find a half-stopped server", async () => {
    const directory = makeProject();
    const visit = async (name: string) => {
      for (let round = 0; round < 4; round += 1) {
        await using server = await start(directory);
        await putMarker(server, `${name}${round}`).catch(async () => {
          // Two create the table at once.
          await putMarker(server, `${name}${round}`);
        });
      }
    };
    await Promise.all([visit("a"), visit("b"), visit("c")]);
    expect(await postmasterPid(directory)).toBeUndefined();
    await using server = await start(directory);
    expect(await markers(server)).toHaveLength(12);
  });
});

describe("after kill -9", () => {
  test("of the program, the next start joins the server that was left, and stops it in the end", async () => {
    const directory = makeProject();
    const killed = await startEmbeddedProcess(directory);
    await putMarker(killed, "kept");
    await killHard(killed);
    const left = await postmasterPid(directory);
    expect(isAlive(left!)).toBe(true);

    const next = await start(directory);
    expect(await postmasterPid(directory)).toBe(left);
    expect(await markers(next)).toEqual(["kept"]);
    await next.stop();
    expect(await postmasterPid(directory)).toBeUndefined();
  });

  test("of the server, the next start recovers, and what it left in shared memory goes", async () => {
    const directory = makeProject();
    const before = await start(directory);
    await putMarker(before, "kept");
    const segment = await sharedMemoryOf(directory);
    process.kill((await postmasterPid(directory))!, "SIGKILL");
    // Nothing to stop any more, and no error.
    await before.stop();
    expect(await postmasterPid(directory)).toBeTypeOf("number");
    if (onLinux) expect(await sharedMemory()).toContain(segment);

    await using after = await start(directory);
    expect(await markers(after)).toEqual(["kept"]);
    expect(await logOf(directory)).toContain(
      "database system was not properly shut down; automatic recovery in progress",
    );
    if (onLinux) expect(await sharedMemory()).not.toContain(segment);
  });

  test("of both at once, the next start recovers", async () => {
    const directory = makeProject();
    const killed = await startEmbeddedProcess(directory);
    await putMarker(killed, "kept");
    const postmaster = (await postmasterPid(directory))!;
    // The program first: without its server it has nothing to wait for and would end by itself.
    const ended = killHard(killed);
    process.kill(postmaster, "SIGKILL");
    await ended;
    await using after = await start(directory);
    expect(await markers(after)).toEqual(["kept"]);
  });

  test("of one connection, which makes the server start over, stop() still stops it", async () => {
    const directory = makeProject();
    const server = await start(directory);
    const connection = await connectSql(server.urls.superuser, "victim");
    const { rows } = await connection.query<{ pid: number }>("select pg_backend_pid() as pid");
    process.kill(rows[0]!.pid, "SIGKILL");
    await expect(connection.query("select pg_sleep(60)")).rejects.toThrow();
    await connection.end().catch(() => {});
    await expect
      .poll(() => query(server, "select 1 as one").catch(() => []), { timeout: 20_000 })
      .toEqual([{ one: 1 }]);
    await server.stop();
    expect(await postmasterPid(directory)).toBeUndefined();
  });

  test("and a reboot, when another program got the server's process id, the next start is not fooled", async () => {
    const directory = makeProject();
    const before = await start(directory);
    await putMarker(before, "kept");
    const owner = await stat(dataOf(directory));
    process.kill((await postmasterPid(directory))!, "SIGKILL");
    await before.stop();
    // The other program runs as the server's user: PostgreSQL itself passes over other users' processes.
    const stranger = spawn("sleep", ["600"], process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {});
    try {
      const file = join(dataOf(directory), "postmaster.pid");
      await writeFile(file, (await readFile(file, "utf8")).replace(/^\d+/, String(stranger.pid)));
      await using after = await start(directory);
      expect(await markers(after)).toEqual(["kept"]);
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill();
    }
  });

  test("of a server that had only begun to start, the next start is not held up by its empty pid file", async () => {
    const directory = makeProject();
    const file = join(dataOf(directory), "postmaster.pid");
    await writeFile(file, "");
    await utimes(file, 0, 0);
    await using server = await start(directory);
    expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("in the middle of making the database, the next start makes it anew", async () => {
    const directory = join(root, "interrupted", ".rowhouse");
    const draft = join(directory, "postgres.new-2147483646-x");
    await mkdir(join(draft, "data", "base"), { recursive: true });
    const busy = join(directory, `postgres.new-${process.pid}-x`);
    await mkdir(busy);
    await using server = await start(directory);
    expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
    // Somebody is at work in the other one.
    expect((await readdir(directory)).sort()).toEqual(["postgres", `postgres.new-${process.pid}-x`]);
  });
});

test(
  "a server that does not end in order is ended all the same, and has what was committed",
  { timeout: 90_000 },
  async () => {
    const directory = makeProject();
    const server = await startEmbeddedPostgres({ directory });
    await putMarker(server, "kept");
    const [row] = await query(server, "select pid from pg_stat_activity where backend_type = 'checkpointer'");
    // Without it there is no orderly shutdown.
    process.kill(Number(row!.pid), "SIGSTOP");
    await server.stop();
    expect(await postmasterPid(directory)).toBeUndefined();
    await using after = await start(directory);
    expect(await markers(after)).toEqual(["kept"]);
  },
);

describe("a signal", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s shuts the server down cleanly, then ends the program",
    async (signal) => {
      const directory = makeProject();
      const program = await startEmbeddedProcess(directory);
      await putMarker(program, "kept");
      program.interrupt(signal);
      expect(await program.exited).toEqual({ code: null, signal });
      expect(await postmasterPid(directory)).toBeUndefined();
      expect(await logOf(directory)).toMatch(/database system is shut down\n$/);
    },
  );

  test("is left to the program if that listens for it, and the server stays until it is done", async () => {
    const directory = makeProject();
    const program = await startEmbeddedProcess(directory, { mode: "drains" });
    program.interrupt("SIGINT");
    expect(await program.nextLine()).toBe("finishing");
    await putMarker(program, "written while finishing");
    program.write("done\n");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(await postmasterPid(directory)).toBeUndefined();
  });
});

describe("what cannot be used is told", () => {
  const refused = (directory: string, message: RegExp | string) =>
    expect(start(directory)).rejects.toMatchObject({
      code: "ERR_EMBEDDED_POSTGRES_FAILED",
      message: expect.stringMatching(message),
    });

  test("data of another major version", async () => {
    const directory = makeProject();
    await writeFile(join(dataOf(directory), "PG_VERSION"), "12\n");
    await refused(directory, /was made by PostgreSQL 12 and the embedded one is 1\d.*remove its folder/);
  });

  test("passwords that are lost or damaged, without repeating them", async () => {
    const directory = makeProject();
    const file = join(directory, "postgres", "passwords.json");
    await appendFile(file, "}");
    await refused(directory, /passwords\.json is damaged\. Restore it, or remove its folder/);
    await rm(file);
    await refused(directory, /holds no complete database: .*passwords\.json is missing/);
  });

  test("settings that PostgreSQL refuses, with its own words", async () => {
    const directory = makeProject();
    await appendFile(join(dataOf(directory), "postgresql.conf"), "max_connections = many\n");
    await refused(directory, /did not start in .*invalid value for parameter "max_connections": "many"/);
  });

  test("a folder that is a file", async () => {
    const file = join(root, "file");
    await writeFile(file, "");
    await refused(join(file, ".rowhouse"), /cannot work in .*(ENOTDIR|EEXIST).*Set ROWHOUSE_DATA_DIR/);
  });

  test("a role prefix that PostgreSQL reserves", async () => {
    await expect(startEmbeddedPostgres({ directory: makeProject(), rolePrefix: "pg_x" })).rejects.toMatchObject({
      code: "ERR_CONFIG_INVALID",
    });
  });
});
