import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { inject, onTestFinished } from "vitest";
import { withRolePrefix } from "../../src/database/role-names.ts";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { initDatabase } from "../../src/migrations/init-database.ts";
import { frameworkMigrations } from "../../src/migrations/migration-files.ts";
import { migrate, type MigrateOptions, type MigrationReport } from "../../src/migrations/migrate.ts";

export const PASSWORDS = { owner: "owner-password", app: "app-password", worker: "worker-password" };

/** Ids of the migrations that come with Rowhouse. */
export const FRAMEWORK: readonly string[] = frameworkMigrations().map((migration) => migration.id);

type RoleKind = keyof typeof PASSWORDS;

/** The tests' server, as a superuser: what provisioning does cannot be tested on a clone. */
export function superuserUrl(database?: string): string {
  const url = new URL(inject("testCluster").adminUrl);
  if (database !== undefined) url.pathname = `/${database}`;
  return url.href;
}

export function urlAs(database: string, user: string, password: string): string {
  return Object.assign(new URL(superuserUrl(database)), { username: user, password }).href;
}

/** A name that no other test has, for a database or a role prefix. It begins as the run's do, which removes what is left. */
export const newName = (): string => `${inject("testCluster").rolePrefix}_${randomBytes(4).toString("hex")}`;

/** A connection that ends with the test. */
export async function connect(url: string, name = "test"): Promise<SqlConnection> {
  const connection = await connectSql(url, name);
  onTestFinished(() => connection.end().catch(() => {}));
  return connection;
}

/** Runs one statement as the superuser. */
export async function asSuperuser(statement: string, database?: string) {
  await using connection = await connectSql(superuserUrl(database), "test");
  return await connection.query(statement);
}

async function dropAll(databases: readonly string[], roles: readonly string[]): Promise<void> {
  await using connection = await connectSql(superuserUrl(), "test");
  for (const database of databases) await connection.query(`drop database if exists ${database} with (force)`);
  await connection.query(roles.map((role) => `drop role if exists ${role}`).join(";"));
}

/** Drops databases and roles when the test is over; those that are not there are no mistake. */
export function dropWhenFinished(databases: readonly string[], roles: readonly string[]): void {
  onTestFinished(() => dropAll(databases, roles));
}

export const rolesOf = (prefix: string): string[] =>
  ["app", "worker", "owner", "queue", "tenant"].map((kind) => `${prefix}_${kind}`);

export interface Scratch extends AsyncDisposable {
  readonly name: string;
  readonly rolePrefix: string;
  url(role: RoleKind): string;
  /** A connection as one of the roles, or as superuser, that ends with the test. */
  connect(role: RoleKind | "superuser", applicationName?: string): Promise<SqlConnection>;
  /** One statement on a connection of its own, with the role names replaced. */
  as(role: RoleKind | "superuser", statement: string): Promise<Record<string, unknown>[]>;
  migrate(files: Record<string, string>, options?: Partial<MigrateOptions>): Promise<MigrationReport>;
}

/** An initialised, empty database with roles of its own, dropped after the test. */
export async function createScratch(): Promise<Scratch> {
  const scratch = await makeScratch();
  onTestFinished(() => scratch[Symbol.asyncDispose]());
  return scratch;
}

/** The same for many tests: whoever makes it disposes of it. */
export async function makeScratch(): Promise<Scratch> {
  const name = newName();
  await initDatabase({ adminUrl: superuserUrl(), database: name, rolePrefix: name, passwords: PASSWORDS });
  const url = (role: RoleKind) => urlAs(name, `${name}_${role}`, PASSWORDS[role]);
  const urlOf = (role: RoleKind | "superuser") => (role === "superuser" ? superuserUrl(name) : url(role));
  return {
    name,
    rolePrefix: name,
    url,
    connect: (role, applicationName) => connect(urlOf(role), applicationName),
    async as(role, statement) {
      await using connection = await connectSql(urlOf(role), "test");
      return (await connection.query(withRolePrefix(statement, name))).rows;
    },
    async migrate(files, options) {
      const folder = await folderOf(files);
      return migrate({
        ownerUrl: url("owner"),
        rolePrefix: name,
        folders: [{ source: "app", path: folder }],
        ...options,
      });
    },
    [Symbol.asyncDispose]: () => dropAll([name], rolesOf(name)),
  };
}

/** Writes files into a folder that is removed after the test. */
export async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "rowhouse-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text);
  return folder;
}

export const TENANT = "00000000-0000-4000-8000-00000000000a";

/** Makes a tenant and runs a statement in its transaction, as the application does. */
export async function asTenant(connection: SqlConnection, statement: string) {
  await connection.query("begin");
  try {
    await connection.query("select rowhouse.enter($1, 1)", [TENANT]);
    return await connection.query(statement);
  } finally {
    await connection.query("commit");
  }
}
