import { describe, expect, it } from "vitest";
import { ConfigInvalid, MigrationFailed, MigrationInvalid, type RowhouseError } from "../../src/errors.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { createScratch, folderOf, FRAMEWORK, superuserUrl } from "./scratch.ts";

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was thrown"),
    (error: RowhouseError) => error,
  );

const ORDERS = "create table orders (tenant_id uuid not null, id int)";

describe("migrate", () => {
  it("applies the framework's migrations and the application's, once", async () => {
    const scratch = await createScratch();
    const files = { "0001_orders.sql": ORDERS, "0002_status.sql": "alter table orders add status text" };
    const first = await scratch.migrate(files);
    expect(first).toEqual({
      applied: [...FRAMEWORK, "app/0001_orders.sql", "app/0002_status.sql"],
      secured: ["public.orders"],
      dedicated: [],
    });
    expect(await scratch.migrate(files)).toEqual({ applied: [], secured: [], dedicated: [] });
    expect(
      await scratch.as(
        "superuser",
        "select id, statements_done, applied_at is not null as applied from rowhouse.migrations order by applied_at",
      ),
    ).toEqual([
      ...FRAMEWORK.map((id) => ({ id, statements_done: expect.any(Number), applied: true })),
      { id: "app/0001_orders.sql", statements_done: 1, applied: true },
      { id: "app/0002_status.sql", statements_done: 1, applied: true },
    ]);
  });

  it("takes what drizzle-kit writes, and leaves its meta folder alone", async () => {
    const scratch = await createScratch();
    const { applied } = await scratch.migrate({
      "0000_clever_name.sql": [
        'CREATE TABLE "orders" (\n\t"tenant_id" uuid NOT NULL,\n\t"id" uuid NOT NULL,\n\tCONSTRAINT "orders_pkey" PRIMARY KEY("tenant_id","id")\n);\n',
        'CREATE TABLE "global"."plans" (\n\t"id" text PRIMARY KEY NOT NULL\n);\n',
        'CREATE INDEX "orders_id_idx" ON "orders" USING btree ("tenant_id","id");',
      ].join("--> statement-breakpoint\n"),
      "0001_custom.sql": "-- Custom SQL migration file, put your code below! --\n",
      "snapshot.json": "{}",
    });
    expect(applied).toEqual([...FRAMEWORK, "app/0000_clever_name.sql", "app/0001_custom.sql"]);
    expect(await scratch.as("app", "select count(*)::int as n from global.plans")).toEqual([{ n: 0 }]);
  });

  it("runs files in the order of their numbers", async () => {
    const scratch = await createScratch();
    const { applied } = await scratch.migrate({
      "20261201000000_c.sql": "alter table orders add c int",
      "10000_b.sql": "alter table orders add b int",
      "9999_a.sql": ORDERS,
    });
    expect(applied.slice(FRAMEWORK.length)).toEqual(["app/9999_a.sql", "app/10000_b.sql", "app/20261201000000_c.sql"]);
  });

  it("applies a file that was merged late, though later ones are applied", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_orders.sql": ORDERS, "0003_c.sql": "alter table orders add c int" });
    const { applied } = await scratch.migrate({
      "0001_orders.sql": ORDERS,
      "0002_late.sql": "alter table orders add late int",
      "0003_c.sql": "alter table orders add c int",
    });
    expect(applied).toEqual(["app/0002_late.sql"]);
    await scratch.as("owner", "select late, c from public.orders");
  });

  it("refuses a file that was edited after it had been applied, and applies nothing", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_orders.sql": ORDERS });
    const error = await caught(
      scratch.migrate({ "0001_orders.sql": `${ORDERS} `, "0002_t.sql": "create table t (a int)" }),
    );
    expect(error).toBeInstanceOf(MigrationInvalid);
    expect(error.message).toMatch(
      /^Migration app\/0001_orders\.sql was edited after it had been applied \(SHA-256 [0-9a-f]{64} then, [0-9a-f]{64} now\)\. Restore the file as it was, and put the change into a new migration\.$/,
    );
    expect(await scratch.as("owner", "select to_regclass('public.t') as t")).toEqual([{ t: null }]);
  });

  it("takes other line ends and a byte order mark for the same file", async () => {
    const scratch = await createScratch();
    const text = `${ORDERS};\nselect 1;\n`;
    await scratch.migrate({ "0001_orders.sql": text });
    const again = await scratch.migrate({ "0001_orders.sql": `\uFEFF${text.replaceAll("\n", "\r\n")}` });
    expect(again.applied).toEqual([]);
  });

  it("refuses to run when an applied file is missing", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_orders.sql": ORDERS, "0002_x.sql": "alter table orders add x int" });
    const error = await caught(scratch.migrate({ "0001_orders.sql": ORDERS }));
    expect(error).toBeInstanceOf(MigrationInvalid);
    expect(error.message).toMatch(
      /^The database has migrations that this code does not: app\/0002_x\.sql\. .*delete its row from rowhouse\.migrations as the owner\.$/,
    );
    await scratch.as("owner", "delete from rowhouse.migrations where id = 'app/0002_x.sql'");
    expect((await scratch.migrate({ "0001_orders.sql": ORDERS })).applied).toEqual([]);
  });

  it("minds only the folders it is given", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_orders.sql": ORDERS });
    const other = await folderOf({ "0001_orders.sql": "create table visits (tenant_id uuid not null)" });
    const { applied } = await scratch.migrate({}, { folders: [{ source: "visits", path: other }] });
    expect(applied).toEqual(["visits/0001_orders.sql"]);
  });

  it("gives role names in files the configured prefix, and every file the same settings", async () => {
    const scratch = await createScratch();
    await scratch.migrate({
      "0001_a.sql":
        "create table t (a int); grant select on t to rowhouse_app; set search_path = pg_catalog; set timezone = 'Asia/Tokyo'; set statement_timeout = 1",
      "0002_b.sql":
        "create table u as select current_setting('search_path') as path, current_setting('timezone') as zone, " +
        "current_setting('statement_timeout') as timeout, current_setting('lock_timeout') as lock_timeout, current_user as who",
    });
    expect(await scratch.as("owner", "select * from public.u")).toEqual([
      {
        path: "public, extensions, pg_temp",
        zone: "UTC",
        timeout: "0",
        lock_timeout: "1s",
        who: `${scratch.name}_owner`,
      },
    ]);
    expect(await scratch.as("app", "select * from public.t")).toEqual([]);
  });
});

describe("a failing file", () => {
  it("leaves nothing behind, and says where it failed", async () => {
    const scratch = await createScratch();
    const files = {
      "0001_orders.sql": ORDERS,
      "0002_bad.sql": `create table half (a int);\n\n-- a comment\ninsert into orders\n  (tenant_id)\nvalues (null);\ncreate table never (a int);`,
      "0003_after.sql": "create table after (a int)",
    };
    const error = await caught(scratch.migrate(files));
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toBe(
      'Migration app/0002_bad.sql failed at line 4: null value in column "tenant_id" of relation "orders" violates not-null ' +
        "constraint (SQLSTATE 23502).\n  insert into orders (tenant_id) values (null)\nNothing of the file was applied. " +
        "Correct it and run `rowhouse migrate` again.",
    );
    const gone = "select to_regclass('half') as half, to_regclass('never') as never, to_regclass('after') as after";
    expect(await scratch.as("owner", gone)).toEqual([{ half: null, never: null, after: null }]);
    // What came before it stays, and the corrected file goes on from there.
    const fixed = await scratch.migrate({ ...files, "0002_bad.sql": "create table half (a int)" });
    expect(fixed.applied).toEqual(["app/0002_bad.sql", "app/0003_after.sql"]);
  });

  it("names the very line where PostgreSQL knows it", async () => {
    const scratch = await createScratch();
    const error = await caught(scratch.migrate({ "0001_a.sql": "-- ünïcödé 🦊\nselect '🦊🦊',\n  1,\n  nonsense\n" }));
    expect(error.message).toMatch(
      /^Migration app\/0001_a\.sql failed at line 4: column "nonsense" does not exist \(SQLSTATE 42703\)\./,
    );
  });

  it("fails at its end when a deferred constraint does", async () => {
    const scratch = await createScratch();
    const error = await caught(
      scratch.migrate({
        "0001_a.sql":
          "create table a (id int primary key); create table b (a int references a deferrable initially deferred);" +
          "insert into b values (1)",
      }),
    );
    expect(error.message).toMatch(
      /^Migration app\/0001_a\.sql failed at its end: insert or update on table "b" violates foreign key/,
    );
    expect(await scratch.as("owner", "select to_regclass('a') as a")).toEqual([{ a: null }]);
  });

  it("keeps rows out of the message", async () => {
    const scratch = await createScratch();
    const error = await caught(
      scratch.migrate({
        "0001_a.sql":
          "create table a (email text); insert into a select chr(115) || 'ecret' from generate_series(1, 2)",
        "0002_b.sql": "create unique index on a (email)",
      }),
    );
    expect(error.message).toContain("could not create unique index");
    expect(error.message).not.toContain("secret");
  });
});

describe("what is refused before anything is applied", () => {
  const TRANSACTION_ERROR =
    /^Migration app\/0002_b\.sql, line 2, controls the transaction itself \(commit\)\. Each file runs in one already: remove the statement, or make "-- rowhouse: no transaction" the first line to run without\.$/;

  it.each<[string, Record<string, string>, RegExp]>([
    [
      "a file that is not named NNNN_name.sql",
      { "1_a.sql": "" },
      /^The migration file 1_a\.sql is not named like 0001_create_orders\.sql/,
    ],
    ["a file that commits by itself", { "0001_a.sql": ORDERS, "0002_b.sql": "select 1;\ncommit;" }, TRANSACTION_ERROR],
  ])("%s", async (_, files, message) => {
    const scratch = await createScratch();
    const error = await caught(scratch.migrate(files));
    expect(error).toBeInstanceOf(MigrationInvalid);
    expect(error.message).toMatch(message);
    expect(await scratch.as("superuser", "select to_regclass('rowhouse.migrations') as ledger")).toEqual([
      { ledger: null },
    ]);
  });

  it("a folder that is not there, a source that is the framework's, two folders with one source", async () => {
    const scratch = await createScratch();
    const path = await folderOf({});
    const attempt = (folders: { source: string; path: string }[]) => caught(scratch.migrate({}, { folders }));
    expect((await attempt([{ source: "app", path: `${path}/none` }])).message).toBe(
      `The migrations folder ${path}/none cannot be read. Create it, or correct the path.`,
    );
    expect((await attempt([{ source: "rowhouse", path }])).message).toMatch(
      /^"rowhouse" cannot be the source of migrations/,
    );
    expect(
      (
        await attempt([
          { source: "a", path },
          { source: "a", path },
        ])
      ).message,
    ).toBe('Two folders of migrations have the source "a". Give each a source of its own.');
  });

  it("a role that is not the owner", async () => {
    const scratch = await createScratch();
    const error = await caught(
      migrate({ ownerUrl: superuserUrl(scratch.name), rolePrefix: scratch.name, folders: [] }),
    );
    expect(error).toBeInstanceOf(ConfigInvalid);
    expect(error.message).toMatch(/^OWNER_DATABASE_URL connects as ".+", but migrations must run as "\w+_owner"\./);
  });

  it("a database that was not initialised", async () => {
    const scratch = await createScratch();
    await scratch.as("superuser", `revoke create on database ${scratch.name} from rowhouse_owner`);
    const error = await caught(scratch.migrate({}));
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toBe(
      `The ledger of migrations cannot be made: permission denied for database ${scratch.name}. Run \`rowhouse init-database\` first.`,
    );
  });
});
