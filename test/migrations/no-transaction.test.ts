import { describe, expect, it } from "vitest";
import { MigrationFailed, MigrationInvalid, type RowhouseError } from "../../src/errors.ts";
import { createScratch, type Scratch } from "./scratch.ts";

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was thrown"),
    (error: RowhouseError) => error,
  );

const TABLE = "create table orders (tenant_id uuid not null, number int)";
const FIRST_LINE = "-- rowhouse: no transaction\n";

const ledger = (scratch: Scratch) =>
  scratch.as(
    "owner",
    "select statements_done as done, applied_at is not null as applied from rowhouse.migrations where id = 'app/0002_index.sql'",
  );

const indexes = (scratch: Scratch) =>
  scratch.as(
    "owner",
    "select indexrelid::regclass::text as name, indisvalid as valid from pg_index where indrelid = 'orders'::regclass order by 1",
  );

/** Two rows that a unique index on number refuses. */
const twins = (scratch: Scratch) =>
  scratch.as("owner", "insert into orders select gen_random_uuid(), 1 from generate_series(1, 2)");

describe("a file without a transaction", () => {
  it("runs what PostgreSQL refuses inside one", async () => {
    const scratch = await createScratch();
    const index = "create index concurrently orders_number_idx on orders (number);";
    await scratch.migrate({ "0001_orders.sql": TABLE });
    // Control: in a transaction it is refused.
    const error = await caught(scratch.migrate({ "0001_orders.sql": TABLE, "0002_index.sql": index }));
    expect(error.message).toMatch(
      /failed at line 1: CREATE INDEX CONCURRENTLY cannot run inside a transaction block \(SQLSTATE 25001\)/,
    );

    const { applied } = await scratch.migrate({
      "0001_orders.sql": TABLE,
      "0002_index.sql": `${FIRST_LINE}${index}\nvacuum orders;`,
    });
    expect(applied).toEqual(["app/0002_index.sql"]);
    expect(await indexes(scratch)).toEqual([{ name: "orders_number_idx", valid: true }]);
    expect(await ledger(scratch)).toEqual([{ done: 2, applied: true }]);
  });

  it("goes on with the statement that failed, once it is corrected", async () => {
    const scratch = await createScratch();
    const broken = `${FIRST_LINE}alter table orders add a int;\nalter table orders add b nonsense;\nalter table orders add c int;`;
    const error = await caught(scratch.migrate({ "0001_orders.sql": TABLE, "0002_index.sql": broken }));
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toBe(
      'Migration app/0002_index.sql failed at line 3: type "nonsense" does not exist (SQLSTATE 42704).\n' +
        "  alter table orders add b nonsense\n" +
        "The file runs without a transaction: the 1 statement(s) before this one stay applied and are recorded, and the next " +
        "`rowhouse migrate` goes on with this one.",
    );
    expect(await ledger(scratch)).toEqual([{ done: 1, applied: false }]);

    const { applied } = await scratch.migrate({
      "0001_orders.sql": TABLE,
      "0002_index.sql": broken.replace("nonsense", "int"),
    });
    expect(applied).toEqual(["app/0002_index.sql"]);
    await scratch.as("owner", "select a, b, c from orders");
    expect(await ledger(scratch)).toEqual([{ done: 3, applied: true }]);
    // From then on it is held to its checksum, like any other.
    const edited = await caught(scratch.migrate({ "0001_orders.sql": TABLE, "0002_index.sql": broken }));
    expect(edited.message).toMatch(/^Migration app\/0002_index\.sql was edited after it had been applied/);
  });

  it("may not be edited where it is applied already, nor get a transaction half-way", async () => {
    const scratch = await createScratch();
    const file = (first: string, firstLine = FIRST_LINE) => ({
      "0001_orders.sql": TABLE,
      "0002_index.sql": `${firstLine}alter table orders add ${first} int;\nalter table orders add b nonsense;`,
    });
    await caught(scratch.migrate(file("a")));
    for (const files of [file("z"), file("a", "\n")]) {
      const error = await caught(scratch.migrate(files));
      expect(error).toBeInstanceOf(MigrationInvalid);
      expect(error.message).toMatch(
        /^Migration app\/0002_index\.sql stopped after 1 statement\(s\) in an earlier run, and these were edited since/,
      );
    }
    // Control: unchanged, it comes to the same mistake again.
    expect((await caught(scratch.migrate(file("a")))).message).toContain('type "nonsense" does not exist');
  });

  it("reports an index that it left invalid, and goes on after it was dropped", async () => {
    const scratch = await createScratch();
    const files = {
      "0001_orders.sql": TABLE,
      "0002_index.sql": `${FIRST_LINE}create unique index concurrently orders_number_key on orders (number);`,
    };
    await scratch.migrate({ "0001_orders.sql": TABLE });
    await twins(scratch);
    const error = await caught(scratch.migrate(files));
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toContain('could not create unique index "orders_number_key" (SQLSTATE 23505)');
    expect(error.message).toContain(
      "Index public.orders_number_key is invalid: building it has failed, and no query uses it.",
    );
    expect(error.message).toContain("\n  drop index concurrently public.orders_number_key;");
    expect(await indexes(scratch)).toEqual([{ name: "orders_number_key", valid: false }]);

    await scratch.as("owner", "drop index concurrently public.orders_number_key");
    await scratch.as("owner", "truncate orders");
    expect((await scratch.migrate(files)).applied).toEqual(["app/0002_index.sql"]);
  });

  it("does not take an invalid index for one that is there, as IF NOT EXISTS does", async () => {
    const scratch = await createScratch();
    const files = {
      "0001_orders.sql": TABLE,
      "0002_index.sql": `${FIRST_LINE}create unique index concurrently if not exists orders_number_key on orders (number);`,
    };
    await scratch.migrate({ "0001_orders.sql": TABLE });
    await twins(scratch);
    await caught(scratch.migrate(files));
    await scratch.as("owner", "truncate orders");
    const error = await caught(scratch.migrate(files));
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(error.message).toMatch(
      /^Migration app\/0002_index\.sql stopped at line 2\. Index public\.orders_number_key is invalid/,
    );
    expect(await ledger(scratch)).toEqual([{ done: 0, applied: false }]);
  });

  it("waits for an old transaction as long as it takes to build an index, whatever the lock timeout", async () => {
    const scratch = await createScratch();
    await scratch.migrate({
      "0001_orders.sql": TABLE,
      "0002_other.sql": "create table other (tenant_id uuid not null)",
    });
    const old = await scratch.connect("owner", "old transaction");
    await old.query("begin; insert into orders values (gen_random_uuid(), 1)");
    const superuser = await scratch.connect("superuser");
    const migrating = scratch.migrate({
      "0001_orders.sql": TABLE,
      "0002_other.sql": "create table other (tenant_id uuid not null)",
      "0003_index.sql": `${FIRST_LINE}create index concurrently orders_number_idx on orders (number);`,
    });
    // Longer than the lock timeout of a statement that blocks others.
    await expect
      .poll(
        async () =>
          (
            await superuser.query(
              `select count(*)::int as n from pg_stat_activity
               where datname = $1 and query like 'create index concurrently%' and wait_event_type = 'Lock'
                 and clock_timestamp() - query_start > interval '1.2 s'`,
              [scratch.name],
            )
          ).rows[0]!["n"],
        { timeout: 20_000 },
      )
      .toBe(1);
    await old.query("commit");
    expect((await migrating).applied).toEqual(["app/0003_index.sql"]);
    expect(await indexes(scratch)).toEqual([{ name: "orders_number_idx", valid: true }]);
  });
});
