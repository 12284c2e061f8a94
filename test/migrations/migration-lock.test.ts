import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { MigrationFailed, MigrationLocked, type RowhouseError } from "../../src/errors.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { takeMigrationLock } from "../../src/migrations/migration-lock.ts";
import { createScratch, folderOf, FRAMEWORK, type Scratch } from "./scratch.ts";

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was thrown"),
    (error: RowhouseError) => error,
  );

const ORDERS = "create table orders (tenant_id uuid not null, id int)";
const CONCURRENT_INDEX = "-- rowhouse: no transaction\ncreate index concurrently orders_id_idx on orders (id)";

const RUNNER = fileURLToPath(new URL("migrate-program.ts", import.meta.url));

/** Migrates in a process of its own. */
function startRunner(scratch: Scratch, folder: string) {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", "--conditions=rowhouse-source", RUNNER, scratch.url("owner"), scratch.rolePrefix, folder],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  return { child, closed: once(child, "close").then(() => output) };
}

describe("the migration lock", () => {
  it("lets 8 runners migrate one new database at once", async () => {
    const scratch = await createScratch();
    const folder = await folderOf({ "0001_orders.sql": ORDERS, "0002_index.sql": CONCURRENT_INDEX });
    const options = {
      ownerUrl: scratch.url("owner"),
      rolePrefix: scratch.rolePrefix,
      folders: [{ source: "app", path: folder }],
    };
    const reports = await Promise.all(Array.from({ length: 8 }, () => migrate(options)));
    expect(reports.flatMap((report) => report.applied).sort()).toEqual([
      "app/0001_orders.sql",
      "app/0002_index.sql",
      ...FRAMEWORK,
    ]);
    expect(reports.flatMap((report) => report.secured)).toEqual(["public.orders"]);
  });

  it("lets processes migrate at once too", async () => {
    const scratch = await createScratch();
    const folder = await folderOf({ "0001_orders.sql": ORDERS, "0002_index.sql": CONCURRENT_INDEX });
    const outputs = await Promise.all(Array.from({ length: 3 }, () => startRunner(scratch, folder).closed));
    const applied = outputs.flatMap((output) => (JSON.parse(output) as { applied: string[] }).applied);
    expect(applied.sort()).toEqual(["app/0001_orders.sql", "app/0002_index.sql", ...FRAMEWORK]);
  });

  it("is given up after the wait, with who holds it", async () => {
    const scratch = await createScratch();
    await using _lock = await takeMigrationLock(scratch.url("owner"), 0);
    const error = await caught(scratch.migrate({}, { lockWait: 100 }));
    expect(error).toBeInstanceOf(MigrationLocked);
    expect(error.code).toBe("ERR_MIGRATION_LOCKED");
    expect(error.message).toMatch(
      /^Another runner is migrating this database, or moving a tenant \(the one of server process \d+, from .+\), and was not done within 0\.1 s\. /,
    );
  });

  it("is waited for, and free again as soon as it is released", async () => {
    const scratch = await createScratch();
    const lock = await takeMigrationLock(scratch.url("owner"), 0);
    const waiting = scratch.migrate({});
    const superuser = await scratch.connect("superuser");
    await expect
      .poll(
        async () =>
          (
            await superuser.query(
              "select count(*)::int as n from pg_stat_activity where datname = $1 and application_name = 'rowhouse migrate (lock)'",
              [scratch.name],
            )
          ).rows[0]!["n"],
        { timeout: 20_000 },
      )
      .toBe(2);
    await lock[Symbol.asyncDispose]();
    expect((await waiting).applied).toEqual(FRAMEWORK);
  });

  it("holds in one database, not in its neighbours", async () => {
    const [one, two] = [await createScratch(), await createScratch()];
    await using _lock = await takeMigrationLock(one.url("owner"), 0);
    expect((await two.migrate({}, { lockWait: 0 })).applied).toEqual(FRAMEWORK);
  });

  it("is released by a runner that was killed, and what it was at is not half applied", async () => {
    const scratch = await createScratch();
    const gate = { "0001_gate.sql": "create table gate (a int)" };
    await scratch.migrate(gate);
    await scratch.as("owner", "insert into gate values (1)");
    const files = {
      ...gate,
      "0002_slow.sql": "create table slow (a int); select pg_sleep(600) from gate; alter table slow add b int",
    };
    const { child, closed } = startRunner(scratch, await folderOf(files));
    const superuser = await scratch.connect("superuser");
    const sleepers = async () =>
      (
        await superuser.query(
          "select count(*)::int as n from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'",
          [scratch.name],
        )
      ).rows[0]!["n"];
    await expect.poll(sleepers, { timeout: 20_000 }).toBe(1);
    child.kill("SIGKILL");
    await closed;
    await scratch.as("owner", "delete from gate");
    // Its server process may still be at the statement: then the ledger's own line is waited for.
    expect((await scratch.migrate(files)).applied).toEqual(["app/0002_slow.sql"]);
    expect(await scratch.as("owner", "select a, b from slow")).toEqual([]);
  });

  it("is looked after: a runner that lost it stops before the next file", async () => {
    const scratch = await createScratch();
    const files = {
      "0001_a.sql":
        "create table a as select count(pg_terminate_backend(pid)) from pg_stat_activity " +
        "where datname = current_database() and application_name = 'rowhouse migrate (lock)'",
      "0002_b.sql": "create table b (a int)",
    };
    const error = await caught(scratch.migrate(files));
    expect(error).toBeInstanceOf(MigrationLocked);
    expect(error.message).toMatch(/^The lock was lost that keeps other runners out: /);
    expect(await scratch.as("owner", "select to_regclass('a')::text as a, to_regclass('b') as b")).toEqual([
      { a: "a", b: null },
    ]);
  });
});

describe("a table's lock", () => {
  it("is tried for again and again, so that nobody has to queue behind the migration for long", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_orders.sql": ORDERS });
    const reader = await scratch.connect("owner", "reader");
    await reader.query("begin; select from orders");
    const superuser = await scratch.connect("superuser");
    const migrating = scratch.migrate({ "0001_orders.sql": ORDERS, "0002_a.sql": "alter table orders add a int" });
    const attempts = new Set<string>();
    await expect
      .poll(
        async () => {
          const { rows } = await superuser.query<{ began: string }>(
            "select xact_start::text as began from pg_stat_activity where datname = $1 and query like 'alter table orders%' and wait_event_type = 'Lock'",
            [scratch.name],
          );
          for (const row of rows) attempts.add(row.began);
          return attempts.size;
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(1);
    await reader.query("commit");
    expect((await migrating).applied).toEqual(["app/0002_a.sql"]);
  });

  it("is given up after so many tries, with who holds it and nothing half applied", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_orders.sql": ORDERS });
    const reader = await scratch.connect("owner", "nightly report");
    await reader.query("begin; select from orders");
    const error = await caught(
      scratch.migrate(
        { "0001_orders.sql": ORDERS, "0002_a.sql": "create table a (b int); alter table orders add a int" },
        { lockTries: 2 },
      ),
    );
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toContain(
      "Migration app/0002_a.sql failed at line 1: canceling statement due to lock timeout (SQLSTATE 55P03)",
    );
    expect(error.message).toMatch(
      /\nThe lock was held by server process \d+ \(\w+_owner, nightly report\)\. Wait until/,
    );
    expect(await scratch.as("owner", "select to_regclass('a') as a")).toEqual([{ a: null }]);
  });
});
