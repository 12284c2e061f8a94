import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database } from "../../src/database/types.ts";
import { createTenantContext, type TenantContext } from "../../src/tenancy/context.ts";
import { createRegistry, type Registry } from "../../src/tenancy/registry.ts";
import type { Tenant } from "../../src/tenancy/tenant.ts";
import { createWithTenant, type WithTenant } from "../../src/tenancy/with-tenant.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let server: TestDatabase;
let database: Database;
let registry: Registry;
let context: TenantContext;
let withTenant: WithTenant;
let a: { id: string; slug: string };
let b: { id: string; slug: string };

beforeAll(async () => {
  server = await createTestDatabase();
  database = createDatabase({
    url: server.appUrl,
    poolSize: 4,
    tenantLimit: 3,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
  registry = createRegistry(database);
  context = createTenantContext();
  withTenant = createWithTenant(database, registry, context);
});

beforeEach(async () => {
  a = await server.createTenant();
  b = await server.createTenant();
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

const write = (tenantId: string, body: string) =>
  withTenant(tenantId, async (db) => void (await db.insert(notes).values({ body })));
const read = (tenantId: string) =>
  withTenant(tenantId, async (db) => (await db.select().from(notes).orderBy(notes.body)).map((note) => note.body));
const setTenant = (id: string, assignment: string) =>
  server.asOwner(`update rowhouse.tenants set ${assignment} where id = $1`, [id]);

describe("withTenant", () => {
  it("stores what the work writes, for this tenant only", async () => {
    await write(a.id, "of a");
    expect(await read(a.id)).toEqual(["of a"]);
    expect(await read(a.id.toUpperCase())).toEqual(["of a"]);
    expect(await read(b.id)).toEqual([]);
  });

  it("stores nothing when the work throws, and throws the same", async () => {
    const failure = new Error("changed my mind");
    const work = withTenant(a.id, async (db) => {
      await db.insert(notes).values({ body: "lost" });
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await read(a.id)).toEqual([]);
  });

  it("joins the transaction that is open, and undoes only the inner part when that throws", async () => {
    await withTenant(a.id, async (db) => {
      await db.insert(notes).values({ body: "outer" });
      await write(a.id.toUpperCase(), "inner");
      await withTenant(a.id, async (inner) => {
        await inner.insert(notes).values({ body: "undone" });
        throw new Error("undo");
      }).catch(() => {});
      expect(await read(a.id)).toEqual(["inner", "outer"]);
    });
    expect(await read(a.id)).toEqual(["inner", "outer"]);
  });

  it("cannot begin for another tenant inside an open transaction", async () => {
    await withTenant(a.id, async () => {
      await expect(read(b.id)).rejects.toMatchObject({
        code: "ERR_TENANT_MISMATCH",
        message: expect.stringContaining(
          `A transaction of tenant ${a.id} is open here, so one of tenant ${b.id} cannot`,
        ),
      });
    });
    expect(await read(b.id)).toEqual([]);
  });

  it("sets the scope for code below it, and takes nobody's rights to another tenant", async () => {
    const tenant = await registry.tenant({ by: "id", id: a.id });
    const principal = { kind: "user", id: "ada", scopes: ["all"] } as const;
    const scopeIn = (id: string) => withTenant(id, () => Promise.resolve(context.current()));
    await context.run({ tenant, principal, transaction: undefined }, async () => {
      expect(await scopeIn(a.id)).toMatchObject({ tenant, principal });
      expect(await scopeIn(b.id)).toMatchObject({ tenant: { id: b.id }, principal: undefined });
    });
    expect(context.tryCurrent()).toBeUndefined();
  });

  it("cannot begin for a tenant that is unknown or suspended", async () => {
    await setTenant(b.id, "status = 'suspended'");
    const never = () => Promise.reject(new Error("the work ran"));
    await expect(withTenant("0198c7f0-3333-7000-8000-00000000000c", never)).rejects.toMatchObject({
      code: "ERR_TENANT_NOT_FOUND",
      message: "There is no such tenant.",
    });
    await expect(withTenant(b.id, never)).rejects.toMatchObject({
      code: "ERR_TENANT_SUSPENDED",
      message: "The tenant is suspended. An operator can resume it.",
    });
  });
});

describe("a tenant that the registry remembers", () => {
  it("is refused at once when it is suspended, and is back at once when it is resumed", async () => {
    await read(a.id);
    await setTenant(a.id, "status = 'suspended'");
    for (const _ of [1, 2]) await expect(read(a.id)).rejects.toMatchObject({ code: "ERR_TENANT_SUSPENDED" });
    await setTenant(a.id, "status = 'active'");
    expect(await read(a.id)).toEqual([]);
  });

  it("is followed to its new place when it was moved, and looked up afresh after that", async () => {
    await read(a.id);
    await setTenant(a.id, "epoch = epoch + 1");
    expect(await read(a.id)).toEqual([]);
    expect(await registry.find({ by: "id", id: a.id })).toMatchObject({ epoch: 2 });
  });

  it("is unknown at once when it is deleted", async () => {
    await read(a.id);
    await server.asOwner("delete from rowhouse.tenants where id = $1", [a.id]);
    await expect(read(a.id)).rejects.toMatchObject({ code: "ERR_TENANT_NOT_FOUND" });
    await expect(read(a.id)).rejects.toMatchObject({ code: "ERR_TENANT_NOT_FOUND" });
    expect(await read(b.id)).toEqual([]);
  });
});

describe("the registry on the database", () => {
  it("finds a tenant by id and slug, with all that the transaction needs", async () => {
    const found: Tenant = { ...a, name: a.slug, status: "active", placement: "shared", epoch: 1 };
    expect(await registry.find({ by: "id", id: a.id })).toEqual(found);
    expect(await registry.find({ by: "slug", slug: a.slug })).toEqual(found);
  });

  it("finds a tenant by a domain only after that was verified", async () => {
    const claim = { by: "domain", domain: "xn--bcher-kva.example" } as const;
    await server.asOwner("insert into rowhouse.domains (domain, tenant_id) values ($1, $2)", [claim.domain, a.id]);
    expect(await createRegistry(database).find(claim)).toBeUndefined();
    await server.asOwner("update rowhouse.domains set verified_at = now() where domain = $1", [claim.domain]);
    expect(await createRegistry(database).find(claim)).toMatchObject({ id: a.id });
  });
});
