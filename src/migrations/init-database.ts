import { setTimeout as sleep } from "node:timers/promises";
import { tryDatabaseUrl } from "../config.ts";
import { roleName, withRolePrefix } from "../database/role-names.ts";
import { serverErrorOf } from "../database/server-error.ts";
import { connectSql, type SqlConnection } from "../database/sql-connection.ts";
import { ConfigInvalid, PermissionDenied, UnsafeRole } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { scramVerifier } from "./scram-verifier.ts";

const OLDEST_VERSION = 15;

/** A role that has none keeps what it has: a new one cannot log in with a password until it gets one. */
interface RolePasswords {
  readonly owner?: string | undefined;
  readonly app?: string | undefined;
  readonly worker?: string | undefined;
}

export interface InitDatabaseOptions {
  /** Connects as an administrator with CREATEROLE who owns the database, or has CREATEDB to make it. */
  readonly adminUrl: string;
  /** The application's database; by default the one that `adminUrl` names. */
  readonly database?: string;
  readonly rolePrefix: string;
  /** Passwords of the login roles. Without them none is changed: for servers that authenticate in another way. */
  readonly passwords?: RolePasswords;
}

/**
 * Makes the application's database, its roles and their grants (db/roles.sql). Running it again changes nothing but the
 * passwords; running it many times at once is safe, also for several databases of one server.
 *
 * @throws ConfigInvalid when the prefix, a password or the server's version cannot be used
 * @throws PermissionDenied when the administrator lacks a right; the message holds the statements that are missing
 * @throws UnsafeRole when a role of ours exists and could walk past row-level security
 */
export async function initDatabase(options: InitDatabaseOptions): Promise<void> {
  const database = options.database ?? databaseOf(options.adminUrl);
  const verifiers = passwordVerifiers(options);
  await using connection = await connectToDatabase(options.adminUrl, database);
  await assertVersion(connection);
  await withRetries(() => prepareRoles(connection, options.rolePrefix, verifiers));
}

function parse(url: string): URL {
  const parsed = tryDatabaseUrl(url);
  if (parsed !== undefined) return parsed;
  throw new ConfigInvalid("The administrator's URL is none. Write it as postgres://user@host:5432/database.");
}

function databaseOf(url: string): string {
  const name = decodeURIComponent(parse(url).pathname.slice(1));
  if (name !== "") return name;
  throw new ConfigInvalid("The administrator's URL names no database. Write it as postgres://user@host:5432/database.");
}

function atDatabase(url: string, database: string): string {
  const other = parse(url);
  other.pathname = `/${encodeURIComponent(database)}`;
  return other.href;
}

/** Connects to the database, creating it when there is none. */
async function connectToDatabase(adminUrl: string, database: string): Promise<SqlConnection> {
  const url = atDatabase(adminUrl, database);
  try {
    return await connectSql(url, "rowhouse init-database");
  } catch (error) {
    if (serverErrorOf(error)?.code !== "3D000") throw error;
  }
  await createDatabase(adminUrl, database);
  return connectSql(url, "rowhouse init-database");
}

async function createDatabase(adminUrl: string, database: string): Promise<void> {
  await using connection = await connectToNeighbour(adminUrl, database);
  // template0: nobody is connected to it, and what others put into template1 stays out.
  const { rows } = await connection.query<{ statement: string }>(
    "select pg_catalog.format('create database %I template template0 encoding ''UTF8''', $1::text) as statement",
    [database],
  );
  try {
    await connection.query(rows[0]!.statement);
  } catch (error) {
    const code = serverErrorOf(error)?.code;
    // Someone else made it meanwhile.
    if (code === "42P04" || code === "23505") return;
    if (code !== "42501") throw error;
    throw new PermissionDenied(
      `Database "${database}" does not exist and the administrator may not create it. Create it (owned by the ` +
        "administrator of ADMIN_DATABASE_URL), or give that role CREATEDB.",
      { cause: error },
    );
  }
}

/** Any database to stand in: the one the URL names, or the one every server has, if that is the one to be made. */
async function connectToNeighbour(adminUrl: string, database: string): Promise<SqlConnection> {
  const own = databaseOf(adminUrl);
  const neighbours = own === database ? ["postgres"] : [own, "postgres"];
  for (const neighbour of neighbours) {
    try {
      return await connectSql(atDatabase(adminUrl, neighbour), "rowhouse init-database");
    } catch (error) {
      if (serverErrorOf(error)?.code !== "3D000") throw error;
    }
  }
  throw new ConfigInvalid(
    `Database "${database}" does not exist, and neither does one to create it from (${neighbours.join(", ")}). Create it ` +
      "with the provider's tool.",
  );
}

async function assertVersion(connection: SqlConnection): Promise<void> {
  const { rows } = await connection.query<{ number: number; text: string }>(
    "select current_setting('server_version_num')::integer as number, current_setting('server_version') as text",
  );
  const { number, text } = rows[0]!;
  if (number >= OLDEST_VERSION * 10_000) return;
  throw new ConfigInvalid(`The server is PostgreSQL ${text}. Rowhouse needs ${OLDEST_VERSION} or later.`);
}

function passwordVerifiers({ passwords = {}, rolePrefix }: InitDatabaseOptions): Map<string, string> {
  const verifiers = new Map<string, string>();
  for (const kind of ["owner", "app", "worker"] as const) {
    const password = passwords[kind];
    if (password !== undefined) verifiers.set(roleName(rolePrefix, kind), scramVerifier(password));
  }
  return verifiers;
}

async function prepareRoles(connection: SqlConnection, prefix: string, verifiers: Map<string, string>): Promise<void> {
  const ask = <Row extends object>(text: string) => connection.query<Row>(withRolePrefix(text, prefix));
  await connection.query("begin");
  try {
    await assertSafeRoles(ask);
    await ask(sql["db/roles.sql"]);
    for (const [role, verifier] of verifiers) await setPassword(connection, role, verifier);
    await assertSafeRoles(ask);
    await assertGranted(ask);
    await connection.query("commit");
  } catch (error) {
    await connection.query("rollback").catch(() => {});
    throw asPermissionDenied(error);
  }
}

/** A statement without parameters, but neither needs quotes: roleName() and scramVerifier() say why. */
async function setPassword(connection: SqlConnection, role: string, verifier: string): Promise<void> {
  try {
    await connection.query(`alter role ${role} password '${verifier}'`);
  } catch (error) {
    const server = serverErrorOf(error);
    if (!server || server.code === "42501" || isCollision(error)) throw error;
    throw new ConfigInvalid(
      `The server does not take the password of role "${role}": ${server.message}. It is sent hashed (SCRAM-SHA-256). ` +
        "Where a provider accepts plain ones only, set it with the provider's own tool and initialise without passwords.",
      { cause: error },
    );
  }
}

type Ask = <Row extends object>(text: string) => Promise<{ rows: Row[] }>;

async function assertSafeRoles(ask: Ask): Promise<void> {
  const { rows } = await ask<{ role: string; reason: string }>(sql["db/queries/unsafe_existing_roles.sql"]);
  if (rows.length === 0) return;
  throw new UnsafeRole(
    `A role of this server could walk past row-level security: ${rows.map((row) => `"${row.role}" ${row.reason}`).join("; ")}. ` +
      "Take that away from it, or choose another ROWHOUSE_ROLE_PREFIX.",
  );
}

async function assertGranted(ask: Ask): Promise<void> {
  const { rows } = await ask<{ problem: string; remedy: string; owner: string }>(sql["db/queries/init_problems.sql"]);
  if (rows.length === 0) return;
  const remedies = rows.map((row) => `  ${row.remedy};  -- as ${row.owner}`);
  throw new PermissionDenied(
    `The administrator could not give or take every right: ${rows.map((row) => row.problem).join("; ")}. ` +
      `Run as the owner named beside each, then initialise again:\n${remedies.join("\n")}`,
  );
}

function asPermissionDenied(error: unknown): unknown {
  const server = serverErrorOf(error);
  if (server?.code !== "42501") return error;
  return new PermissionDenied(
    `The administrator may not do what init-database needs: ${server.message}. It must have CREATEROLE, own the ` +
      "database, and, from PostgreSQL 16 on, have ADMIN OPTION on the roles if someone else created them.",
    { cause: error },
  );
}

const RETRIES = 50;

/** Roles and the grants of a database are rows that concurrent ALTERs do not wait for: the loser is refused. */
async function withRetries(work: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries >= RETRIES || !isCollision(error)) throw error;
      await sleep(10 + Math.random() * 90);
    }
  }
}

function isCollision(error: unknown): boolean {
  const server = serverErrorOf(error);
  if (!server) return false;
  // unique_violation, duplicate_object, deadlock_detected, and the catalog's own, which has no code.
  if (["23505", "42710", "40P01"].includes(server.code)) return true;
  return server.code === "XX000" && server.message.startsWith("tuple concurrently");
}
