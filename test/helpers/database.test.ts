import { expect, inject, test } from "vitest";
import { connectSql } from "../../src/database/sql-connection.ts";
import { createTestDatabase } from "./database.ts";
import { urlAt } from "./test-cluster.ts";

test("each database is a migrated clone of its own, also when several are made at once", async () => {
  const databases = await Promise.all([1, 2, 3].map(() => createTestDatabase()));
  expect(new Set(databases.map(({ name }) => name)).size).toBe(3);
  const [first, second] = databases;
  const { id } = await first!.createTenant({ slug: "acme" });
  await first!.asOwner("insert into public.notes (tenant_id, body) values ($1, 'hello')", [id]);
  const count = "select count(*)::int as count from public.notes";
  expect((await first!.asOwner(count)).rows).toEqual([{ count: 1 }]);
  expect((await second!.asOwner(count)).rows).toEqual([{ count: 0 }]);

  await Promise.all(databases.map((database) => database.drop()));
  await expect(first!.asOwner("select 1")).rejects.toThrow();
});

test("the tables of a clone stand behind the wall", async () => {
  await using database = await createTestDatabase();
  const { id } = await database.createTenant();
  await database.asOwner("insert into public.notes (tenant_id, body) values ($1, 'hello')", [id]);
  expect((await database.asApp("select body from public.notes")).rows).toEqual([]);
  // Control: the app role may read the table, and does as that tenant.
  await using app = await database.connectAsApp();
  await app.query("begin");
  await app.query("select rowhouse.enter($1, 1)", [id]);
  expect((await app.query("select body from public.notes")).rows).toEqual([{ body: "hello" }]);
  await app.query("rollback");
});

test("each URL logs in as its role, and none of the framework's is a superuser", async () => {
  await using database = await createTestDatabase();
  const { appUrl, ownerUrl, workerUrl, provisionerUrl, rolePrefix } = database;
  const ask = async (url: string) => {
    await using connection = await connectSql(url, "test");
    const { rows } = await connection.query(
      "select current_user as role, rolsuper or rolbypassrls as mighty, current_database() as name from pg_roles where rolname = current_user",
    );
    return rows[0]!;
  };
  const name = database.name;
  expect(await ask(appUrl)).toEqual({ role: `${rolePrefix}_app`, mighty: false, name });
  expect(await ask(ownerUrl)).toEqual({ role: `${rolePrefix}_owner`, mighty: false, name });
  expect(await ask(workerUrl)).toEqual({ role: `${rolePrefix}_worker`, mighty: false, name });
  expect(await ask(provisionerUrl)).toMatchObject({ mighty: false, name });
});

test("a database is cloned once nobody is connected to the template any more", { timeout: 60_000 }, async () => {
  const cluster = inject("testCluster");
  const guest = await connectSql(urlAt(cluster, cluster.template, "admin"), "guest");
  const pending = createTestDatabase();
  // PostgreSQL itself waits five seconds for the guest to go; then the statement fails and is sent again.
  const attempts = new Set<unknown>();
  await expect
    .poll(
      async () => {
        const { rows } = await guest.query(
          `select query_start from pg_stat_activity
           where usename = $1 and query like 'create database%' and state = 'active'`,
          [new URL(cluster.provisionerUrl).username],
        );
        for (const row of rows) attempts.add(String(row["query_start"]));
        return attempts.size;
      },
      { timeout: 50_000 },
    )
    .toBeGreaterThan(1);
  await guest.end();
  await using database = await pending;
  expect((await database.asOwner("select 1 as one")).rows).toEqual([{ one: 1 }]);
});
