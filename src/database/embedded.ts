import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionLost, EmbeddedPostgresFailed, RowhouseError } from "../errors.ts";
import { findBinaries } from "./embedded-binaries.ts";
import { openCluster, type EmbeddedCluster, type EmbeddedPasswords } from "./embedded-cluster.ts";
import { chooseHome } from "./embedded-home.ts";
import { readPostmaster } from "./embedded-pid-file.ts";
import {
  candidatePorts,
  isPortFree,
  launchPostmaster,
  rememberPort,
  stopPostmaster,
  type PostmasterOptions,
} from "./embedded-postmaster.ts";
import { stopOnSignals } from "./embedded-signals.ts";
import { roleName } from "./role-names.ts";
import { connectSql, type SqlConnection } from "./sql-connection.ts";

export interface EmbeddedPostgresOptions {
  /** Where the data is kept, absolute or relative to the working directory. */
  readonly directory: string;
  /** @defaultValue "rowhouse" */
  readonly rolePrefix?: string;
  /** False gives up what was committed when the machine crashes, for tests. @defaultValue true */
  readonly fsync?: boolean;
}

export interface EmbeddedPostgres extends AsyncDisposable {
  readonly urls: {
    /** For the outermost rooms only: database `postgres`, as its superuser. */
    readonly superuser: string;
    /** Database `postgres` as `<prefix>_admin`, who may make roles and databases and is no superuser. */
    readonly admin: string;
  };
  /** Generated for the roles that `initDatabase` makes. */
  readonly passwords: Pick<EmbeddedPasswords, "owner" | "app" | "worker">;
  readonly port: number;
  /** Where the data is: as root perhaps not where it was wanted. */
  readonly directory: string;
  /** Leaves the server. The last process to leave stops it, and waits for its end. */
  stop(): Promise<void>;
}

/** Every process that uses the server holds this lock shared, in database `postgres`; who gets it exclusively is alone. */
const USERS_LOCK = 7236_0001;
const ADMIN_LOCK = 7236_0002;

/** How long to wait for a server that another process starts or stops, or whose remains have to end, in ms. */
const PATIENCE = 60_000;

/**
 * Starts a PostgreSQL of this project's own, or joins the one that runs already on the same directory: another
 * process's, or what a killed process left behind. It ends with `stop()`, and on SIGINT, SIGTERM and SIGHUP where
 * nobody else listens for these; until then it keeps the process alive. After `kill -9` the server runs on, and the
 * next start joins it.
 *
 * @throws EmbeddedPostgresFailed with the reason, and the way out
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (error) {
    if (error instanceof RowhouseError) throw error;
    throw new EmbeddedPostgresFailed(
      `The embedded PostgreSQL cannot work in ${options.directory}: ${String(error)}. Set ROWHOUSE_DATA_DIR to a folder ` +
        "of yours; or remove this one, if another user (root, perhaps) made it and its data can go.",
      { cause: error },
    );
  }
}

async function start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { directory, rolePrefix = "rowhouse", fsync = true } = options;
  const adminRole = roleName(rolePrefix, "admin");
  const { user, directory: home } = await chooseHome(directory);
  const binaries = await findBinaries({ user });
  const cluster = await openCluster({ directory: home, user }, binaries, fsync);
  const postmaster: PostmasterOptions = { binaries, cluster, user, fsync };

  const { session, port } = await joinOrLaunch(postmaster);
  try {
    await makeAdmin(session, adminRole, cluster.passwords.admin);
  } catch (error) {
    await leave(session, postmaster);
    throw error;
  }
  let left: Promise<void> | undefined;
  const stop = () => (left ??= leave(session, postmaster).finally(forgetSignals));
  const forgetSignals = stopOnSignals(stop);
  const { owner, app, worker } = cluster.passwords;
  return {
    urls: { superuser: superuserUrl(cluster, port), admin: urlOf(adminRole, cluster.passwords.admin, port) },
    passwords: { owner, app, worker },
    port,
    directory: home,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

// A PGSSLMODE in the environment is meant for another server.
const urlOf = (user: string, password: string, port: number) =>
  `postgres://${user}:${password}@127.0.0.1:${port}/postgres?sslmode=disable`;

const superuserUrl = (cluster: EmbeddedCluster, port: number) => urlOf("postgres", cluster.passwords.superuser, port);

interface Joined {
  /** Holds the users' lock. */
  readonly session: SqlConnection;
  readonly port: number;
}

/**
 * Several processes may do this at once: PostgreSQL itself sees to it that one server runs on a data directory, so
 * whoever fails to start one finds the other's.
 */
async function joinOrLaunch(options: PostmasterOptions): Promise<Joined> {
  const ports = candidatePorts(options.cluster);
  let port = await nextPort(ports);
  let problem: string | undefined;
  for (let deadline = Date.now() + PATIENCE; Date.now() < deadline; await sleep(50)) {
    const joined = await tryJoin(options.cluster);
    if (joined) return joined;
    if (!(await isPortFree(port))) {
      port = await nextPort(ports);
      continue;
    }
    problem = await launch(options, port);
    // Recovery may have taken its time.
    if (problem === undefined) deadline = Date.now() + PATIENCE;
  }
  throw unusable(options.cluster, problem);
}

/** @returns undefined when there is no server, or no more */
async function tryJoin(cluster: EmbeddedCluster): Promise<Joined | undefined> {
  let problem: Error | undefined;
  for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await sleep(50)) {
    const running = await readPostmaster(cluster.data);
    if (running === undefined) return undefined;
    if (!running.isReady) continue;
    try {
      return { session: await connectAsUser(superuserUrl(cluster, running.port)), port: running.port };
    } catch (error) {
      // It stops at this moment, or recovers from the crash of one of its processes.
      problem = error as Error;
    }
  }
  throw unusable(cluster, problem);
}

function unusable(cluster: EmbeddedCluster, problem: Error | string | undefined): EmbeddedPostgresFailed {
  return new EmbeddedPostgresFailed(
    `The embedded PostgreSQL in ${cluster.directory} does not become usable: ${String(problem ?? "it takes too long")}. ` +
      `See ${cluster.log}. If a postgres process is left over from an earlier run, end it.`,
    { cause: problem },
  );
}

async function nextPort(ports: AsyncGenerator<number, undefined>): Promise<number> {
  const { value } = await ports.next();
  if (value !== undefined) return value;
  throw new EmbeddedPostgresFailed("No port between 20000 and 29999 is free for the embedded PostgreSQL.");
}

/** PostgreSQL's words for them. The file may be read at any moment of another server's start or end. */
const PASSING =
  /lock file ".*" (already exists|is empty)|could not (open|read|remove old) lock file ".*": No such file|pre-existing shared memory block/;

/** @returns undefined, or a problem that may pass */
async function launch(options: PostmasterOptions, port: number): Promise<string | undefined> {
  const problem = await launchPostmaster(options, port);
  if (problem === undefined) {
    await rememberPort(options.cluster, port);
    return undefined;
  }
  // Another process was faster, with the data or with the port; or processes of a killed server are about to end.
  if (PASSING.test(problem)) return problem;
  if (!(await isPortFree(port))) return problem;
  throw new EmbeddedPostgresFailed(
    `The embedded PostgreSQL did not start in ${options.cluster.directory}: ${problem}\n` +
      "Mend that, or set DATABASE_URL and OWNER_DATABASE_URL to use a PostgreSQL server of your own.",
  );
}

/** Connects, and says so to the other users. It waits while the last one is stopping the server, and then fails. */
async function connectAsUser(url: string): Promise<SqlConnection> {
  const session = await connectSql(url, "rowhouse embedded");
  try {
    await session.query("select pg_catalog.pg_advisory_lock_shared($1)", [USERS_LOCK]);
    return session;
  } catch (error) {
    await session.end();
    throw error;
  }
}

async function makeAdmin(session: SqlConnection, role: string, password: string): Promise<void> {
  // One at a time: two at once would collide on the role.
  await session.query("select pg_catalog.pg_advisory_lock($1)", [ADMIN_LOCK]);
  const { rows } = await session.query("select from pg_catalog.pg_roles where rolname = $1", [role]);
  const attributes = `login createrole createdb nosuperuser nobypassrls password '${password}'`;
  await session.query(`${rows.length === 0 ? "create" : "alter"} role ${role} with ${attributes}`);
  await session.query("select pg_catalog.pg_advisory_unlock($1)", [ADMIN_LOCK]);
}

async function leave(session: SqlConnection, options: PostmasterOptions): Promise<void> {
  try {
    await stopIfAlone(session, options);
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    // The server was killed; or it has recovered from the crash of one of its processes, and forgotten its users.
    const again = await tryJoin(options.cluster);
    if (again) await stopIfAlone(again.session, options).finally(() => again.session.end());
  } finally {
    await session.end().catch(() => {});
  }
}

async function stopIfAlone(session: SqlConnection, options: PostmasterOptions): Promise<void> {
  await session.query("select pg_catalog.pg_advisory_unlock_shared($1)", [USERS_LOCK]);
  const { rows } = await session.query<{ alone: boolean }>("select pg_catalog.pg_try_advisory_lock($1) as alone", [
    USERS_LOCK,
  ]);
  // The lock is held until the server's end: whoever comes now waits for that, and then starts it again.
  if (rows[0]?.alone) await stopPostmaster(options);
}
