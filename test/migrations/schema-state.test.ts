import { describe, expect, it, onTestFinished } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import { SchemaOutdated, type RowhouseError } from "../../src/errors.ts";
import { assertSchemaCurrent, expectedSchema } from "../../src/migrations/schema-state.ts";
import { createScratch, folderOf, FRAMEWORK, type Scratch } from "./scratch.ts";

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail("nothing was thrown"),
    (error: RowhouseError) => error,
  );

function openAsApp(scratch: Scratch) {
  const database = createDatabase({
    url: scratch.url("app"),
    poolSize: 1,
    tenantLimit: 1,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
  onTestFinished(() => database.close());
  return database;
}

describe("the schema's state", () => {
  it("is known to the application, which cannot read the ledger", async () => {
    const scratch = await createScratch();
    const files = { "0001_a.sql": "create table a (b int)", "0002_c.sql": "create table c (d int)" };
    const { shared: expected } = await expectedSchema([{ source: "app", path: await folderOf(files) }]);
    expect(expected).toEqual([...FRAMEWORK, "app/0001_a.sql", "app/0002_c.sql"]);
    const database = openAsApp(scratch);

    // Nothing at all yet.
    const first = await caught(assertSchemaCurrent(database, expected));
    expect(first).toBeInstanceOf(SchemaOutdated);
    expect(first.message).toBe(
      `The database's schema is older than this code: ${FRAMEWORK.join(", ")}, app/0001_a.sql, app/0002_c.sql not applied. ` +
        "Run `rowhouse migrate`.",
    );

    await scratch.migrate({ "0001_a.sql": files["0001_a.sql"] });
    const second = await caught(assertSchemaCurrent(database, expected));
    expect(second.code).toBe("ERR_SCHEMA_OUTDATED");
    expect(second.message).toBe(
      "The database's schema is older than this code: app/0002_c.sql not applied. Run `rowhouse migrate`.",
    );

    await scratch.migrate(files);
    await assertSchemaCurrent(database, expected);
    expect((await caught(scratch.as("app", "select from rowhouse.migrations"))).code).toBe("ERR_PERMISSION_DENIED");
  });

  it("is current for an older release on a newer schema", async () => {
    const scratch = await createScratch();
    await scratch.migrate({ "0001_a.sql": "create table a (b int)" });
    await assertSchemaCurrent(openAsApp(scratch), (await expectedSchema([])).shared);
  });

  it("is not current while a file without a transaction is half-way", async () => {
    const scratch = await createScratch();
    const files = { "0001_a.sql": "-- rowhouse: no transaction\ncreate table a (b int); nonsense" };
    await caught(scratch.migrate(files));
    const { shared: expected } = await expectedSchema([{ source: "app", path: await folderOf(files) }]);
    expect((await caught(assertSchemaCurrent(openAsApp(scratch), expected))).message).toContain(
      "app/0001_a.sql not applied",
    );
  });
});
