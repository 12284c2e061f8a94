import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SECRET = "a secret of the tests, 32 bytes long at least";

let server: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  server = await createTestDatabase();
  env = {
    DATABASE_URL: server.appUrl,
    OWNER_DATABASE_URL: server.ownerUrl,
    ROWHOUSE_ROLE_PREFIX: server.rolePrefix,
    ROWHOUSE_JWT_SECRET: SECRET,
    ROWHOUSE_JWT_ISSUER: "rowhouse",
    ROWHOUSE_JWT_AUDIENCE: "rowhouse",
  };
});

afterAll(() => server.drop());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program as a process of its own. */
function rowhouse(args: readonly string[], more: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["--import", "tsx", "--conditions=rowhouse-source", path.join(ROOT, "src/cli/main.ts"), ...args],
      { cwd: ROOT, env: { PATH: process.env["PATH"], ...env, ...more } },
      (error, stdout, stderr) => resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });
}

describe("rowhouse", () => {
  it("creates, lists, suspends and resumes a tenant", async () => {
    const created = await rowhouse(["tenant", "create", "acme", "--name", "Acme Inc.", "--json"]);
    expect(created).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(created.stdout)).toMatchObject({ slug: "acme", name: "Acme Inc.", status: "active" });
    expect((await rowhouse(["tenant", "suspend", "acme"])).stdout).toContain("suspended");
    expect((await rowhouse(["tenant", "resume", "acme"])).stdout).toContain("active");
    const list = await rowhouse(["tenant", "list"]);
    expect(list.stdout.split("\n")[0]).toMatch(/^SLUG +ID +NAME +STATUS/);
    expect(list.stdout).toContain("acme");
  });

  it("makes tokens and keys", async () => {
    await rowhouse(["tenant", "create", "globex"]);
    const token = await rowhouse(["token", "globex", "--scope", "read", "--expires-in", "15m"]);
    expect(token.stdout.trim().split(".")).toHaveLength(3);
    const key = await rowhouse(["key", "create", "globex", "--name", "ERP", "--json"]);
    const { prefix, key: text } = JSON.parse(key.stdout) as { prefix: string; key: string };
    expect(text).toContain(`rh_${prefix}_`);
    expect((await rowhouse(["key", "list", "globex"])).stdout).toContain("ERP");
    expect((await rowhouse(["key", "revoke", prefix])).code).toBe(0);
  });

  it("migrates, and runs the checks", async () => {
    const migrated = await rowhouse(["migrate", `test=${path.join(ROOT, "test/fixtures/migrations")}`]);
    expect(migrated).toMatchObject({ code: 0, stdout: "nothing to do\n" });
    const doctor = await rowhouse(["doctor", "--json"]);
    const findings = JSON.parse(doctor.stdout) as { level: string }[];
    expect(findings.filter((finding) => finding.level === "error")).toEqual([]);
    expect(doctor.code).toBe(0);
    // Tables are empty here, so it has to say that they prove nothing.
    const zeroCount = await rowhouse(["zero-count"]);
    expect(zeroCount.code).toBe(1);
    expect(zeroCount.stdout).toContain("UNPROVEN");
  });

  it("finds a sabotage and says how to mend it", async () => {
    await server.asOwner("drop policy tenant_isolation on public.notes");
    const doctor = await rowhouse(["doctor"]);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toContain("ERROR 0006_template_policy");
    expect(doctor.stdout).toContain("fix:");
  });

  it("says what is wrong with a call, on stderr and with the exit code", async () => {
    expect(await rowhouse(["tenant", "create", "Bad Slug"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining('error [ERR_TENANT_INVALID] "Bad Slug" cannot be a slug.'),
    });
    expect(await rowhouse(["tenant", "suspend", "nobody"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("error [ERR_TENANT_NOT_FOUND]"),
    });
    expect(await rowhouse(["tennant"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Did you mean tenant?"),
    });
    expect(await rowhouse(["token", "acme", "--expires-in", "soon"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("90s, 15m, 8h, 30d"),
    });
    expect(await rowhouse(["probe", "--app", "./nowhere.js"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("cannot be loaded"),
    });
    expect(await rowhouse(["tenant", "list"], { OWNER_DATABASE_URL: "" })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Set OWNER_DATABASE_URL"),
    });
  });

  it("never prints a password", async () => {
    const wrong = await rowhouse(["tenant", "list"], {
      OWNER_DATABASE_URL: server.ownerUrl.replace(/:[^:@]+@/, ":s3cret@"),
    });
    expect(wrong.stdout + wrong.stderr).not.toContain("s3cret");
    const unreachable = await rowhouse(["tenant", "list"], {
      OWNER_DATABASE_URL: "postgres://rh_owner:s3cret@127.0.0.1:1/x",
    });
    expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining("ERR_DATABASE_UNAVAILABLE") });
    expect(unreachable.stderr).not.toContain("s3cret");
  });

  it("documents every command in docs/cli.md", async () => {
    const page = await readFile(path.join(ROOT, "docs/cli.md"), "utf8");
    const groups = {
      "": await rowhouse(["--help"]),
      tenant: await rowhouse(["tenant", "--help"]),
      key: await rowhouse(["key", "--help"]),
    };
    for (const [group, { stdout }] of Object.entries(groups)) {
      const listed = stdout.slice(stdout.indexOf("Commands:")).matchAll(/^ {2}([a-z][a-z-]+)/gm);
      for (const [, name] of listed) {
        if (name === "help") continue;
        expect(page).toContain(`rowhouse ${group ? `${group} ` : ""}${name}`);
      }
    }
  });
});
