import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTokenVerifier } from "../../src/auth/verify-token.ts";
import type { TokenConfig } from "../../src/config.ts";
import { greet } from "../fixtures/jobs-app.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { createJobServer, until } from "../jobs/job-server.ts";

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

  it("makes a tenant with a schema of its own, and says how far each schema is", async () => {
    const folder = `test=${path.join(ROOT, "test/fixtures/migrations")}`;
    const create = ["tenant", "create", "initech", "--placement", "schema", "--migrations", folder, "--json"];
    expect(await rowhouse(create)).toMatchObject({ code: 1, stderr: expect.stringContaining("ADMIN_DATABASE_URL") });
    const without = ["tenant", "create", "initech", "--placement", "schema"];
    const refused = await rowhouse(without, { ADMIN_DATABASE_URL: server.provisionerUrl });
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/migrations of test[^]*--migrations shop=/),
    });
    expect((await rowhouse(["tenant", "list"])).stdout).not.toContain("initech");
    const created = await rowhouse(create, { ADMIN_DATABASE_URL: server.provisionerUrl });
    expect(created).toMatchObject({ code: 0, stderr: "" });
    const { id } = JSON.parse(created.stdout) as { id: string };
    const schema = `t_${id.replaceAll("-", "")}`;
    const status = await rowhouse(["migrations", "status", folder]);
    expect(status.code).toBe(0);
    expect(status.stdout).toMatch(new RegExp(`^TARGET[^]*\nshared +current +0[^]*\n${schema} +current +0`));
    await server.asOwner(
      "update rowhouse.migrations set state = 'failed', error = 'no luck', applied_at = null, statements_done = 0 where target = $1",
      [schema],
    );
    const behind = await rowhouse(["migrations", "status", folder]);
    expect(behind.code).toBe(1);
    expect(behind.stdout).toMatch(new RegExp(`${schema} +failed +1 +1 +no luck`));
    expect((await rowhouse(["migrations", "resume", folder])).stdout).toBe("nothing to do\n");
    await server.asOwner(`drop schema ${schema} cascade; create schema ${schema}`);
    const retried = await rowhouse(["migrations", "retry", folder, "--parallel", "1"]);
    expect(retried.stderr).toBe("");
    expect(retried).toMatchObject({ code: 0, stdout: `${schema}: test/0001_notes.sql\ndone\n` });
    expect((await rowhouse(["migrations", "up", folder])).stdout).toBe("nothing to do\n");
    expect(await rowhouse(["migrations", "up", "--parallel", "0"])).toMatchObject({ code: 2 });
  });

  it("takes a folder of migrations whose path holds a =", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "rowhouse-cli-"));
    try {
      const folder = path.join(directory, "a=b");
      await cp(path.join(ROOT, "test/fixtures/migrations"), folder, { recursive: true });
      expect(await rowhouse(["migrate", `test=${folder}`])).toMatchObject({ code: 0, stdout: "nothing to do\n" });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("makes roles with the URLs' passwords, and leaves alone a role without", async () => {
    const passwords = async () => {
      const { rows } = await server.asAdmin<{ role: string; verifier: string }>(
        "select rolname as role, rolpassword as verifier from pg_catalog.pg_authid where rolname like $1",
        [`${server.rolePrefix}\\_%`],
      );
      return (kind: string) => rows.find((row) => row.role === `${server.rolePrefix}_${kind}`)?.verifier;
    };
    const before = await passwords();
    expect(await rowhouse(["init-database"], { ADMIN_DATABASE_URL: server.provisionerUrl })).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("Next: rowhouse migrate."),
    });
    const after = await passwords();
    expect(after("app")).not.toBe(before("app"));
    expect(after("worker")).toMatch(/^SCRAM-SHA-256/);
    expect(after("worker")).toBe(before("worker"));
    expect((await rowhouse(["tenant", "list"])).code).toBe(0);
  });

  it("starts the project's own PostgreSQL where no server is configured, and keeps one secret", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "rowhouse-cli-"));
    const own = {
      DATABASE_URL: "",
      OWNER_DATABASE_URL: "",
      ROWHOUSE_JWT_SECRET: "",
      ROWHOUSE_JWT_ISSUER: "",
      ROWHOUSE_JWT_AUDIENCE: "",
      ROWHOUSE_DATA_DIR: path.join(directory, "data"),
    };
    try {
      expect(await rowhouse(["tenant", "create", "acme"], own)).toMatchObject({ code: 0, stderr: "" });
      const token = await rowhouse(["token", "acme"], own);
      const secret = await readFile(path.join(own.ROWHOUSE_DATA_DIR, "token-secret"), "utf8");
      expect((await stat(path.join(own.ROWHOUSE_DATA_DIR, "token-secret"))).mode & 0o777).toBe(0o600);
      const config: TokenConfig = { secret, issuer: "rowhouse", audience: "rowhouse" };
      expect(await createTokenVerifier(config)(token.stdout.trim())).toMatchObject({ principal: { id: "developer" } });
      await rowhouse(["token", "acme"], own);
      expect(await readFile(path.join(own.ROWHOUSE_DATA_DIR, "token-secret"), "utf8")).toBe(secret);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("moves a tenant there and back, after a plan that changes nothing", async () => {
    await rowhouse(["tenant", "create", "mover"]);
    const migrations = ["--migrations", "test=test/fixtures/migrations"];
    const admin = { ADMIN_DATABASE_URL: server.provisionerUrl };
    const move = (...args: string[]) => rowhouse(["tenant", "move", "mover", ...args], admin);
    const placement = async () =>
      (await server.asOwner("select placement from rowhouse.tenants where slug = 'mover'")).rows[0];

    const plan = await move("--to", "schema", ...migrations, "--dry-run");
    expect(plan).toMatchObject({ code: 0, stderr: "" });
    expect(plan.stdout).toMatch(/shared -> schema[^]*notes +0[^]*1\. make the tenant's role[^]*nothing is in the way/);
    expect(await move("--to", "schema", "--dry-run")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('in the way:\n- The shared schema has migrations of "test"'),
    });
    expect(await placement()).toEqual({ placement: "shared" });

    const there = await move("--to", "schema", ...migrations);
    expect(there).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('mover lives in "schema" now, with epoch 2'),
    });
    expect(there.stderr).toMatch(/^plan\nprovision\nlock\ncopy notes\ncopy note_tags\n/);
    const back = await move("--to", "shared", "--json");
    expect(JSON.parse(back.stdout)).toMatchObject({ isMoved: true, tenant: { placement: "shared", epoch: 3 } });
    expect(await move("--to", "shared")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('the tenant has the placement "shared" already'),
    });
    expect(await move("--to", "moon")).toMatchObject({ code: 2, stderr: expect.stringContaining("shared, schema") });
    expect(await move("--to", "schema", "--lock-wait", "soon")).toMatchObject({ code: 2 });
    expect(await move("--to", "schema")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[ERR_MOVE_REFUSED]"),
    });
  });

  it("runs jobs until it is told to stop, and shows and steers the queue", async () => {
    const { withTenant } = createJobServer(server);
    const { id, slug } = await server.createTenant();
    const enqueue = (name: string) => withTenant(id, (db) => greet.enqueue(db, { name }));
    await enqueue("a");
    expect((await rowhouse(["jobs", "list", "--tenant", slug, "--state", "ready"])).stdout).toMatch(
      /greet +ready +0\/10/,
    );
    expect(
      (await rowhouse(["jobs", "limit", "--queue", "default", "--running", "1", "--per-tenant", "none"])).code,
    ).toBe(0);
    const worker = spawn(
      process.execPath,
      [
        ...["--import", "tsx", "--conditions=rowhouse-source", path.join(ROOT, "src/cli/main.ts")],
        ...["worker", "--app", "test/fixtures/jobs-app.ts", "--concurrency", "2"],
      ],
      { cwd: ROOT, env: { PATH: process.env["PATH"], ...env, WORKER_DATABASE_URL: server.workerUrl }, stdio: "ignore" },
    );
    const ended = once(worker, "exit");
    await until(async () => (await server.asOwner("select from rowhouse.job_history")).rowCount === 1);
    worker.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    const stats = await rowhouse(["jobs", "stats", "--json"]);
    expect(JSON.parse(stats.stdout)).toMatchObject([
      { queue: "default", type: "greet", ready: 0, dead: 0, doneLastHour: 1 },
    ]);

    const waiting = await enqueue("b");
    expect((await rowhouse(["jobs", "pause", "--type", "greet"])).stdout).toContain("paused");
    expect((await rowhouse(["jobs", "resume", "--type", "greet"])).stdout).toContain("resumed");
    expect(JSON.parse((await rowhouse(["jobs", "show", waiting.id])).stdout)).toMatchObject({
      state: "ready",
      payload: { name: "b" },
    });
    expect((await rowhouse(["jobs", "cancel", waiting.id])).stdout).toBe("1 jobs\n");
    expect((await rowhouse(["jobs", "retry", "--all", "--tenant", slug])).stdout).toBe("0 jobs\n");
    expect(await rowhouse(["jobs", "discard"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("give --all"),
    });
    expect(await rowhouse(["jobs", "pause"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Say what to pause"),
    });
    expect(await rowhouse(["jobs", "show", "7"])).toMatchObject({ code: 2, stderr: expect.stringContaining("a UUID") });
    expect(await rowhouse(["worker", "--app", "test/fixtures/jobs-app.ts"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Set WORKER_DATABASE_URL"),
    });
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
    expect(await rowhouse(["tenant", "list"], { DATABASE_URL: "" })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("DATABASE_URL is missing while OWNER_DATABASE_URL is set"),
    });
    expect(await rowhouse(["init-database"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("error [ERR_CONFIG_INVALID] Set ADMIN_DATABASE_URL"),
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
    expect(unreachable.stderr).not.toContain("    at ");
    for (const url of ["postgres://o:s3cret@/x?host=/nowhere", "postgres://o:s3cret%zz@127.0.0.1:1/x"]) {
      const verbose = await rowhouse(["--verbose", "init-database"], {
        ADMIN_DATABASE_URL: url.replace("o:", "admin:"),
        OWNER_DATABASE_URL: url,
      });
      expect(verbose).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error \[ERR_(CONFIG|DATABASE)_/) });
      expect(verbose.stderr).toContain("    at ");
      expect(verbose.stderr).not.toContain("s3cret");
    }
  });

  it("shows the stack of an error and of its cause with --verbose", async () => {
    await rowhouse(["tenant", "create", "initech"]);
    const taken = await rowhouse(["--verbose", "tenant", "create", "initech"]);
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('The slug "initech" is taken') });
    expect(taken.stderr).toMatch(/^TenantInvalid: .*\n {4}at /m);
    expect(taken.stderr).toMatch(/^caused by UniqueViolation: .*\n {4}at /m);
  });

  it("has an example in every command's help, and lists in docs/cli.md the commands that there are", async () => {
    const commands: string[] = [];
    for (const group of [[], ["tenant"], ["key"], ["migrations"], ["jobs"]]) {
      const { stdout } = await rowhouse([...group, "--help"]);
      const listed = stdout.slice(stdout.indexOf("Commands:")).matchAll(/^ {2}([a-z][a-z-]+)/gm);
      for (const [, name = ""] of listed) {
        if (!["help", "tenant", "key", "migrations", "jobs"].includes(name)) commands.push([...group, name].join(" "));
      }
    }
    const helps = await Promise.all(commands.map((command) => rowhouse([...command.split(" "), "--help"])));
    for (const [index, { stdout }] of helps.entries()) {
      expect(stdout).toContain(`Example:\n  rowhouse ${commands[index]}`);
    }
    const page = await readFile(path.join(ROOT, "docs/cli.md"), "utf8");
    const documented = Array.from(page.matchAll(/^\| `rowhouse ([a-z -]*[a-z])/gm), ([, command]) => command);
    expect(documented.map((command) => command?.replace(/ --.*$/, "")).sort()).toEqual(commands.sort());
    const { version } = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8")) as { version: string };
    expect(await rowhouse(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});
