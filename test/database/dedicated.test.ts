import path from "node:path";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import { tenantRoleName, tenantSchema } from "../../src/database/role-names.ts";
import type { Database, TenantDb, TenantRef } from "../../src/database/types.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const FOLDERS = [{ source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") }];

let server: TestDatabase;
let database: Database;
let shared: TenantRef;
let a: TenantRef;
let b: TenantRef;

async function newDedicated(slug: string): Promise<TenantRef> {
  await using owner = await server.connectAsOwner();
  const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  return await createDedicatedTenant(owner, { slug }, { adminUrl, ownerUrl, rolePrefix, folders: FOLDERS });
}

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
  shared = { id: (await server.createTenant()).id, placement: "shared", epoch: 1 };
  [a, b] = [await newDedicated("a"), await newDedicated("b")];
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

async function run<Result>(tenant: TenantRef, work: (db: TenantDb) => Promise<Result>): Promise<Result> {
  const transaction = database.open(tenant);
  try {
    const result = await work(transaction.db);
    await transaction.commit();
    return result;
  } finally {
    await transaction.rollback();
  }
}

const bodies = (tenant: TenantRef) =>
  run(tenant, async (db) => (await db.select().from(notes).orderBy(notes.body)).map(({ body }) => body));

const whereAmI = (tenant: TenantRef) =>
  run(tenant, async (db) => {
    const { rows } = await db.execute<{ role: string; path: string; home: string; tenant: string }>(
      sql`select current_user as role, current_setting('search_path') as path, 'notes'::regclass::oid::regclass::text as home,
          rowhouse.current_tenant() as tenant`,
    );
    return rows[0]!;
  });

describe("a tenant with a schema of its own", () => {
  it("is reached by the same code, as its own role, in its own schema alone", async () => {
    await run(a, (db) => db.insert(notes).values({ body: "a's" }));
    await run(shared, (db) => db.insert(notes).values({ body: "shared" }));
    expect([await bodies(a), await bodies(b), await bodies(shared)]).toEqual([["a's"], [], ["shared"]]);
    expect(await whereAmI(a)).toMatchObject({
      role: tenantRoleName(server.rolePrefix, a.id),
      path: `${tenantSchema(a.id)}, extensions, pg_temp`,
      tenant: a.id,
    });
    const { rows } = await server.asAdmin(`select body from ${tenantSchema(a.id)}.notes`);
    expect(rows).toEqual([{ body: "a's" }]);
  });

  it("leaves nothing of it on the connection", async () => {
    const one = createDatabase({
      url: server.appUrl,
      poolSize: 1,
      tenantLimit: 1,
      preparedStatements: true,
      applicationName: "test",
      onError: () => {},
    });
    onTestFinished(() => one.close());
    for (const tenant of [a, shared, b, shared, a, b, shared]) {
      const transaction = one.open(tenant);
      const rows = await transaction.db.select().from(notes);
      expect(rows.map(({ tenantId }) => tenantId).every((id) => id === tenant.id)).toBe(true);
      const [who] = (await transaction.db.execute<{ role: string }>(sql`select current_user as role`)).rows;
      expect(who!.role).toBe(
        tenant === shared ? `${server.rolePrefix}_app` : tenantRoleName(server.rolePrefix, tenant.id),
      );
      await (tenant === b ? transaction.rollback() : transaction.commit());
    }
  });

  it("can use the framework's functions and tables as itself only", async () => {
    const claim = (tenant: TenantRef) =>
      run(tenant, async (db) => {
        const hash = Buffer.alloc(32);
        await db.execute(sql`select * from rowhouse.claim_idempotency_key('k', ${hash})`);
        await db.execute(sql`select rowhouse.store_idempotent_answer('k', ${hash}, 200::smallint, '{}', null)`);
        return (await db.execute(sql`select tenant_id from rowhouse.idempotency_keys`)).rows;
      });
    expect([await claim(a), await claim(b)]).toEqual([[{ tenant_id: a.id }], [{ tenant_id: b.id }]]);
    expect((await run(a, (db) => db.execute(sql`select id from rowhouse.tenants`))).rows).toEqual([{ id: a.id }]);
  });

  it("reads global tables and writes none", async () => {
    await server.asOwner("create table if not exists global.plans (name text primary key)");
    await server.asOwner("insert into global.plans values ('basic') on conflict do nothing");
    await server.asOwner(`grant select on global.plans to ${server.rolePrefix}_tenant`);
    expect((await run(a, (db) => db.execute(sql`select name from global.plans`))).rows).toEqual([{ name: "basic" }]);
    await expect(run(a, (db) => db.execute(sql`delete from global.plans`))).rejects.toMatchObject({
      code: "ERR_PERMISSION_DENIED",
    });
  });

  it("has its own ids and defaults, and its rows can be no one else's", async () => {
    const [row] = await run(a, (db) => db.insert(notes).values({ body: "with defaults" }).returning());
    expect(row).toMatchObject({ tenantId: a.id, body: "with defaults" });
    expect(await run(a, (db) => db.select().from(notes).where(eq(notes.id, row!.id!)))).toHaveLength(1);
    await expect(run(a, (db) => db.insert(notes).values({ tenantId: b.id, body: "b's" }))).rejects.toMatchObject({
      code: "ERR_CHECK_VIOLATION",
    });
  });
});

describe("the wall of a dedicated schema", () => {
  const denied = { code: "ERR_PERMISSION_DENIED" };

  it("lets no other tenant in, from wherever it comes", async () => {
    for (const tenant of [b, shared]) {
      await expect(
        run(tenant, (db) => db.execute(sql.raw(`select * from ${tenantSchema(a.id)}.notes`))),
      ).rejects.toMatchObject(denied);
    }
  });

  it("lets a dedicated tenant not into the shared tables", async () => {
    await expect(run(a, (db) => db.execute(sql`select * from public.notes`))).rejects.toMatchObject(denied);
  });

  it("lets the application in by the tenant's role only, and by nothing that it inherits", async () => {
    await expect(server.asApp(`select * from ${tenantSchema(a.id)}.notes`)).rejects.toMatchObject(denied);
    await using app = await server.connectAsApp();
    await app.query("begin");
    await app.query(`set local role ${tenantRoleName(server.rolePrefix, a.id)}`);
    // Positive control: this is what enter() does.
    expect(
      (await app.query(`select count(*)::int as n from ${tenantSchema(a.id)}.notes`)).rows[0]!["n"],
    ).toBeGreaterThan(0);
    await app.query("rollback");
  });

  it("lets nobody in who believes that the tenant is still in the shared tables, and leads him to where it is", async () => {
    const current = await newDedicated("stale");
    const refused = server.asApp("select rowhouse.enter($1, 7)", [current.id]);
    await expect(refused).rejects.toMatchObject({ cause: { code: "RH003" } });
    const stale: TenantRef = { id: current.id, placement: "shared", epoch: 7 };
    await run(stale, (db) => db.insert(notes).values({ body: "followed" }));
    expect(await bodies(current)).toEqual(["followed"]);
  });
});

describe("both placements at once", () => {
  it("keeps every row where it belongs, over few connections", async () => {
    const tenants = [a, shared, b];
    await Promise.all(
      Array.from({ length: 150 }, async (_, n) => {
        const tenant = tenants[n % tenants.length]!;
        const transaction = database.open(tenant);
        const rows = await transaction.db.select().from(notes);
        expect(rows.filter(({ tenantId }) => tenantId !== tenant.id)).toEqual([]);
        await transaction.db.insert(notes).values({ body: `n ${n}` });
        await (n % 4 === 0 ? transaction.rollback() : transaction.commit());
      }),
    );
    const kept = Array.from({ length: 150 }, (_, n) => n).filter((n) => n % 4 !== 0);
    for (const [index, tenant] of tenants.entries()) {
      const own = (await bodies(tenant)).filter((body) => body.startsWith("n "));
      expect(own.sort()).toEqual(
        kept
          .filter((n) => n % tenants.length === index)
          .map((n) => `n ${n}`)
          .sort(),
      );
    }
  });
});
