import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { EmbeddedPostgresFailed } from "../errors.ts";

const run = promisify(execFile);

/** Whom the server runs as when this process is root, which PostgreSQL refuses to run as. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

export interface EmbeddedHome {
  /** Absolute and free of symbolic links. Exists. */
  readonly directory: string;
  /** Undefined: the same user as this process. */
  readonly user: ServerUser | undefined;
}

/** Where root keeps what no other user could reach in the project. Only root can write here, so no name can be taken. */
const SHARED_FOLDER = "/var/lib/rowhouse";

/**
 * Decides where the embedded PostgreSQL keeps its data, and as whom it runs.
 *
 * For an ordinary user that is `directory`, made with mode 0700, and the user. Root has to pick someone else: the owner
 * of the data if there is some, else the project's owner, else `postgres`, else `nobody`. `directory` then gets mode
 * 0711, so that this user can pass through to the data, which is the only folder that belongs to it. Where a folder
 * above shuts this user out (`/root`, say), the data lives under /var/lib/rowhouse/<project>-<hash> instead.
 *
 * @param wanted the folder that is configured, absolute or relative to the working directory
 * @throws EmbeddedPostgresFailed when root finds nobody to run it as
 */
export async function chooseHome(wanted: string): Promise<EmbeddedHome> {
  const directory = resolve(wanted);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) return chooseForRoot(directory);
  return { directory: await makeFolder(directory, 0o700), user: undefined };
}

async function chooseForRoot(directory: string): Promise<EmbeddedHome> {
  const parent = await nearestFolder(dirname(directory));
  const candidates = [await dataOwner(directory), await ownerOf(parent)];
  const user = candidates.find((candidate) => candidate !== undefined) ?? (await anyUser());
  if (await canReach(user, parent)) return { directory: await makeFolderFor(user, directory), user };
  const hash = createHash("sha256").update(directory).digest("hex").slice(0, 8);
  const name = `${basename(dirname(directory)) || "root"}-${hash}`;
  const elsewhere = join(await makeSharedFolder(), name);
  const other = (await dataOwner(elsewhere)) ?? user;
  return { directory: await makeFolderFor(other, elsewhere), user: other };
}

async function anyUser(): Promise<ServerUser> {
  const user = (await findUser("postgres")) ?? (await findUser("nobody"));
  if (user !== undefined) return user;
  throw new EmbeddedPostgresFailed(
    "PostgreSQL does not run as root, and this system has neither a user postgres nor nobody to run it as. " +
      "Run this as another user, or set DATABASE_URL and OWNER_DATABASE_URL.",
  );
}

/** Makes root's folder for what has to be seen by other users. */
export async function makeSharedFolder(): Promise<string> {
  const folder = await makeFolder(SHARED_FOLDER, 0o755);
  const { uid, mode } = await lstat(folder);
  if (uid === 0 && (mode & 0o022) === 0) return folder;
  throw new EmbeddedPostgresFailed(
    `${folder} can be written by others than root. Remove it, and let Rowhouse make it.`,
  );
}

/** True when every folder on the way to `path`, and `path` itself, lets the user through. */
export async function canReach(user: ServerUser, path: string): Promise<boolean> {
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    const { mode, uid, gid } = await stat(folder);
    // PostgreSQL's process has this one group and no other.
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

async function makeFolder(directory: string, mode: number): Promise<string> {
  await mkdir(dirname(directory), { recursive: true });
  const made = await mkdir(directory, { recursive: true });
  if (made !== undefined) await chmod(directory, mode);
  return realpath(directory);
}

async function makeFolderFor(user: ServerUser, directory: string): Promise<string> {
  const folder = await makeFolder(directory, 0o711);
  // It was there already, and shut.
  if (!(await canReach(user, folder))) await chmod(folder, 0o711);
  return folder;
}

/** @returns the path itself, or else the nearest one above it that exists */
async function nearestFolder(path: string): Promise<string> {
  try {
    // The slash makes a file an error.
    return await realpath(`${path}/`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return nearestFolder(dirname(path));
  }
}

/** Whose data there is already: PostgreSQL insists on being run by its data's owner. */
async function dataOwner(directory: string): Promise<ServerUser | undefined> {
  const info = await stat(join(directory, "postgres", "data")).catch(() => undefined);
  return info === undefined || info.uid === 0 ? undefined : { uid: info.uid, gid: info.gid };
}

/** @returns undefined for what is root's, and for an owner without an account, which initdb insists on */
async function ownerOf(folder: string): Promise<ServerUser | undefined> {
  const { uid } = await stat(folder);
  return uid === 0 ? undefined : findUser(String(uid));
}

/** @param name a user's name, or its number as text */
async function findUser(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all(
      ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, name])).stdout)),
    );
    return uid === undefined || gid === undefined || uid === 0 ? undefined : { uid, gid };
  } catch {
    return undefined;
  }
}
