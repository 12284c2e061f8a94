import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { EmbeddedPostgresFailed } from "../errors.ts";
import type { PostgresBinaries } from "./embedded-binaries.ts";
import type { EmbeddedHome } from "./embedded-home.ts";
import { isAlive } from "./embedded-pid-file.ts";

const run = promisify(execFile);

const ROLES = ["superuser", "admin", "owner", "app", "worker"] as const;

/** Generated once for each cluster, and kept beside it in a file that only its owner can read. */
export type EmbeddedPasswords = Readonly<Record<(typeof ROLES)[number], string>>;

/** A PostgreSQL data directory (a "cluster" in PostgreSQL's words), and what is kept beside it. */
export interface EmbeddedCluster {
  /** Holds what follows, all of it. */
  readonly directory: string;
  readonly data: string;
  readonly log: string;
  readonly portFile: string;
  readonly passwords: EmbeddedPasswords;
}

const layout = (directory: string) => ({
  directory,
  data: join(directory, "data"),
  log: join(directory, "server.log"),
  portFile: join(directory, "port"),
  passwordFile: join(directory, "passwords.json"),
});

/**
 * Opens the cluster in `home`, making it if there is none. It is made under another name and moved into place in one
 * step, so neither `kill -9` nor a second process that does the same leaves half a cluster behind.
 *
 * @param fsync false makes initdb skip flushing to disk
 * @throws EmbeddedPostgresFailed when initdb fails, or what is there cannot be used
 */
export async function openCluster(
  home: EmbeddedHome,
  binaries: PostgresBinaries,
  fsync: boolean,
): Promise<EmbeddedCluster> {
  const { passwordFile, ...cluster } = layout(join(home.directory, "postgres"));
  let passwords = await readPasswords(passwordFile);
  if (passwords === undefined) {
    await removeUnfinished(home.directory);
    await createCluster(home, binaries, fsync);
    passwords = await readPasswords(passwordFile);
  }
  if (passwords === undefined) {
    throw new EmbeddedPostgresFailed(
      `${cluster.directory} holds no complete database: ${passwordFile} is missing. Restore it, or remove the folder to begin anew.`,
    );
  }
  await assertSameMajor(cluster.data, binaries.version);
  return { ...cluster, passwords };
}

async function readPasswords(file: string): Promise<EmbeddedPasswords | undefined> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    const passwords = JSON.parse(text) as Partial<Record<string, unknown>>;
    if (ROLES.every((role) => typeof passwords[role] === "string")) return passwords as EmbeddedPasswords;
  } catch {
    // Told below: the file's text stays out of the message.
  }
  throw new EmbeddedPostgresFailed(`${file} is damaged. Restore it, or remove its folder to begin anew.`);
}

async function createCluster(home: EmbeddedHome, binaries: PostgresBinaries, fsync: boolean): Promise<void> {
  // The process's id says whether anyone is still at work here.
  const draft = layout(join(home.directory, `postgres.new-${process.pid}-${randomUUID()}`));
  try {
    await mkdir(draft.data, { recursive: true, mode: 0o711 });
    if (home.user !== undefined) await chown(draft.data, home.user.uid, home.user.gid);
    const passwords = Object.fromEntries(ROLES.map((role) => [role, randomBytes(24).toString("hex")]));
    await writeFile(draft.passwordFile, JSON.stringify(passwords, null, 2), { mode: 0o600 });
    await initdb(home, binaries, draft.data, passwords.superuser ?? "", fsync);
    await rename(draft.directory, join(home.directory, "postgres")).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster: then the cluster is that one's. (Windows says EPERM.)
      if (!["ENOTEMPTY", "EEXIST", "EPERM"].includes(error.code ?? "")) throw error;
    });
  } finally {
    await rm(draft.directory, { recursive: true, force: true });
  }
}

async function initdb(home: EmbeddedHome, binaries: PostgresBinaries, data: string, password: string, fsync: boolean) {
  // initdb reads the password from a file, which its user must be able to read, and wants an empty folder beside it.
  const pwfile = join(data, "..", "initdb-password");
  await writeFile(pwfile, `${password}\n`, { mode: 0o600 });
  if (home.user !== undefined) await chown(pwfile, home.user.uid, home.user.gid);
  const options = [
    `--pgdata=${data}`,
    "--username=postgres",
    `--pwfile=${pwfile}`,
    "--auth=scram-sha-256",
    // PostgreSQL's own locale: it sorts alike on every operating system.
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    ...(fsync ? [] : ["--no-sync"]),
  ];
  try {
    await run(binaries.initdb, options, { ...home.user, cwd: data });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new EmbeddedPostgresFailed(
      `initdb could not make a database in ${home.directory}: ${stderr.trim() || String(error)}`,
      { cause: error },
    );
  } finally {
    await rm(pwfile, { force: true });
  }
}

/** Removes what processes that were killed in the middle of initdb have left. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = /^postgres\.new-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(directory, name), { recursive: true, force: true });
  }
}

async function assertSameMajor(data: string, version: string): Promise<void> {
  const made = (await readFile(join(data, "PG_VERSION"), "utf8").catch(() => "")).trim();
  if (made === version.split(".")[0]) return;
  throw new EmbeddedPostgresFailed(
    `${data} was made by PostgreSQL ${made || "of an unknown version"} and the embedded one is ${version}. ` +
      "Dump it with the version that made it, or remove its folder to begin anew.",
  );
}
