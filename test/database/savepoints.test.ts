import { afterAll, beforeAll, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantDb, TenantRef } from "../../src/database/types.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let server: TestDatabase;
let database: Database;

beforeAll(async () => {
  server = await createTestDatabase();
  database = createDatabase({
    url: server.appUrl,
    poolSize: 4,
    tenantLimit: 4,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

let counter = 0;
async function open() {
  const { id } = await server.createTenant({ slug: `savepoints-${++counter}` });
  const tenant: TenantRef = { id, placement: "shared", epoch: 1 };
  const transaction = database.open(tenant);
  const stored = async () => {
    await transaction.commit();
    const reading = database.open(tenant);
    const rows = await reading.db.select().from(notes).orderBy(notes.body);
    await reading.rollback();
    return rows.map((row) => row.body);
  };
  return { transaction, db: transaction.db, stored };
}

const write = (db: TenantDb, body: string) => db.insert(notes).values({ body });
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

it("undoes only its own writes when it fails", async () => {
  const { db, stored } = await open();
  await write(db, "before");
  await expect(
    db.transaction(async (inner) => {
      await write(inner, "undone");
      throw new Error("no");
    }),
  ).rejects.toThrow("no");
  await write(db, "after");
  expect(await stored()).toEqual(["after", "before"]);
});

it("goes on after a statement failed inside it", async () => {
  const { db, stored } = await open();
  await write(db, "same");
  await expect(db.transaction((inner) => write(inner, "same"))).rejects.toMatchObject({
    code: "ERR_UNIQUE_VIOLATION",
  });
  await write(db, "other");
  expect(await stored()).toEqual(["other", "same"]);
});

it("keeps what a sibling acknowledged while another one fails", async () => {
  const { db, stored } = await open();
  const outcomes = await Promise.allSettled([
    db.transaction(async (inner) => {
      await write(inner, "a1");
      await nextTick();
      throw new Error("a fails");
    }),
    db.transaction(async (inner) => {
      await write(inner, "b1");
      await nextTick();
      await write(inner, "b2");
    }),
    db.transaction(async (inner) => {
      await write(inner, "c1");
    }),
  ]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(await stored()).toEqual(["b1", "b2", "c1"]);
});

it("keeps a statement that was sent from outside while it was open", async () => {
  const { db, stored } = await open();
  const outcomes = await Promise.allSettled([
    db.transaction(async (inner) => {
      await write(inner, "inside");
      await nextTick();
      throw new Error("fails");
    }),
    write(db, "outside"),
  ]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(["rejected", "fulfilled"]);
  expect(await stored()).toEqual(["outside"]);
});

it("counts code that uses the outer db inside it as its own, instead of waiting for itself", async () => {
  const { db, stored } = await open();
  await expect(
    db.transaction(async () => {
      await write(db, "through the outer db");
      await db.transaction((deeper) => write(deeper, "nested through the outer db"));
      throw new Error("undo all");
    }),
  ).rejects.toThrow("undo all");
  await db.transaction(async () => {
    await write(db, "kept");
  });
  expect(await stored()).toEqual(["kept"]);
});

it("nests to any depth", async () => {
  const { db, stored } = await open();
  await db.transaction(async (one) => {
    await write(one, "1");
    await one
      .transaction(async (two) => {
        await write(two, "2");
        await two.transaction(async (three) => {
          await write(three, "3");
        });
        throw new Error("two fails");
      })
      .catch(() => {});
    await Promise.all([
      one.transaction(async (two) => write(two, "2b")),
      one.transaction(async (two) => write(two, "2c")),
    ]);
  });
  expect(await stored()).toEqual(["1", "2b", "2c"]);
});

it("refuses statements after it has ended", async () => {
  const { db, stored } = await open();
  let escaped: TenantDb | undefined;
  await db.transaction(async (inner) => {
    escaped = inner;
    await write(inner, "inside");
  });
  await expect(write(escaped!, "late")).rejects.toMatchObject({
    code: "ERR_TRANSACTION_CLOSED",
    message: expect.stringContaining("savepoint has ended"),
  });
  expect(await stored()).toEqual(["inside"]);
});

it("is rolled back, not left half done, when nobody waits for it before COMMIT", async () => {
  const { transaction, db, stored } = await open();
  await write(db, "before");
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const forgotten = db.transaction(async (inner) => {
    await write(inner, "half");
    await gate;
    await write(inner, "other half");
  });
  const refused = expect(forgotten).rejects.toMatchObject({ code: "ERR_TRANSACTION_CLOSED" });
  const storing = stored();
  release();
  await refused;
  expect(await storing).toEqual(["before"]);
  expect(transaction.isOpen).toBe(false);
});

it("does not count as a query of the handler", async () => {
  const { transaction, db, stored } = await open();
  await db.transaction((inner) => write(inner, "one"));
  expect(transaction.queryCount).toBe(1);
  await stored();
});
