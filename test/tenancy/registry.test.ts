import { describe, expect, it } from "vitest";
import { createRegistry } from "../../src/tenancy/registry.ts";
import type { TenantClaim } from "../../src/tenancy/resolver.ts";
import type { Tenant } from "../../src/tenancy/tenant.ts";
import { stopClock } from "../auth/stopped-clock.ts";
import { ACME, fakeDatabase, GLOBEX, NOBODY } from "./fake-database.ts";

const NOT_FOUND = { code: "ERR_TENANT_NOT_FOUND", message: "There is no such tenant." };
const SUSPENDED = {
  code: "ERR_TENANT_SUSPENDED",
  message: "The tenant is suspended. An operator can resume it.",
};
const byId = (id: string): TenantClaim => ({ by: "id", id });
const bySlug = (slug: string): TenantClaim => ({ by: "slug", slug });
const suspended = (tenant: Tenant): Tenant => ({ ...tenant, status: "suspended" });

function gate() {
  let open = () => {};
  const closed = new Promise<void>((resolve) => (open = resolve));
  return { closed, open };
}

describe("the registry", () => {
  it("finds a tenant by id, slug and verified domain", async () => {
    const registry = createRegistry(fakeDatabase());
    expect(await registry.tenant(byId(ACME.id))).toEqual(ACME);
    expect(await registry.tenant(byId(ACME.id.toUpperCase()))).toEqual(ACME);
    expect(await registry.tenant(bySlug("globex"))).toEqual(GLOBEX);
    expect(await registry.tenant({ by: "domain", domain: "billing.acme.example" })).toEqual(ACME);
  });

  it("asks once for a tenant until its time is over", async () => {
    const pass = stopClock();
    const database = fakeDatabase();
    const registry = createRegistry(database);
    for (let second = 0; second < 30; second += 10) {
      await registry.tenant(bySlug("acme"));
      await registry.tenant(bySlug("acme"));
      pass(10);
    }
    expect(database.asked).toEqual(["find_tenant_by_slug acme"]);
    pass(1);
    await registry.tenant(bySlug("acme"));
    expect(database.asked.length).toBe(2);
  });

  it("asks once for an unknown tenant until its time is over", async () => {
    const pass = stopClock();
    const database = fakeDatabase();
    const registry = createRegistry(database);
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await expect(registry.tenant(byId(NOBODY))).rejects.toMatchObject(NOT_FOUND);
    }
    expect(database.asked).toEqual([`find_tenant_by_id ${NOBODY}`]);
    pass(11);
    database.tenants.push({ ...ACME, id: NOBODY, slug: "initech" });
    expect(await registry.tenant(byId(NOBODY))).toMatchObject({ slug: "initech" });
  });

  it("keeps sprayed names from pushing out tenants, and from growing", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database, { maxUnknown: 10, maxTenants: 10 });
    await registry.tenant(bySlug("acme"));
    for (let index = 0; index < 100; index += 1) await registry.find(bySlug(`made-up-${index}`));
    expect(database.asked.length).toBe(101);

    await registry.tenant(bySlug("acme"));
    await registry.find(bySlug("made-up-95"));
    expect(database.asked.length).toBe(101);
    await registry.find(bySlug("made-up-5"));
    expect(database.asked.length).toBe(102);
  });

  it("shares one look-up among requests that come together, for known and unknown tenants", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    const { closed, open } = gate();
    database.hold = closed;
    const known = Array.from({ length: 20 }, () => registry.tenant(bySlug("acme")));
    const unknown = Array.from({ length: 20 }, () => registry.find(bySlug("nobody")));
    open();
    expect(new Set(await Promise.all(known)).size).toBe(1);
    expect(await Promise.all(unknown)).toEqual(Array(20).fill(undefined));
    expect(database.asked).toEqual(["find_tenant_by_slug acme", "find_tenant_by_slug nobody"]);
  });

  it("sends a malformed name nowhere", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    const malformed = [
      ...["", "0", "null", "undefined", "*", ACME.id.slice(1), `${ACME.id}'`, `{${ACME.id}}`, `${ACME.id}\n`].map(byId),
      ...["", "Acme", "a.b", "-a", "a-", "a_b", "é", "a".repeat(64), "acme\n", "' or 1=1"].map(bySlug),
      ...[
        "",
        "a",
        "acme",
        "A.example",
        "a..example",
        ".example",
        "a.example.",
        "a b.example",
        `${"a.".repeat(130)}x`,
      ].map((domain): TenantClaim => ({ by: "domain", domain })),
      byId(null as unknown as string),
      byId([ACME.id] as unknown as string),
    ];
    for (const claim of malformed) await expect(registry.tenant(claim)).rejects.toMatchObject(NOT_FOUND);
    expect(database.asked).toEqual([]);
    await expect(registry.tenant(byId(ACME.id))).resolves.toBeDefined();
  });

  it("does not confuse an id, a slug and a domain that read alike", async () => {
    const database = fakeDatabase();
    database.tenants = [ACME, { ...GLOBEX, slug: ACME.id }];
    const registry = createRegistry(database);
    expect(await registry.tenant(byId(ACME.id))).toMatchObject({ id: ACME.id });
    expect(await registry.tenant(bySlug(ACME.id))).toMatchObject({ id: GLOBEX.id });
  });

  it("refuses a suspended tenant, and lets it in at once when it is resumed", async () => {
    const database = fakeDatabase();
    database.tenants = [suspended(ACME)];
    const registry = createRegistry(database);
    await expect(registry.tenant(bySlug("acme"))).rejects.toMatchObject(SUSPENDED);
    expect(await registry.find(bySlug("acme"))).toMatchObject({ id: ACME.id, status: "suspended" });
    database.tenants = [ACME];
    expect(await registry.tenant(bySlug("acme"))).toEqual(ACME);
  });

  it("does not remember a failure", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    database.failure = new Error("no connection");
    const both = await Promise.allSettled([registry.tenant(bySlug("acme")), registry.tenant(bySlug("acme"))]);
    expect(both.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    database.failure = undefined;
    expect(await registry.tenant(bySlug("acme"))).toEqual(ACME);
    expect(database.asked.length).toBe(2);
  });

  it("cannot have its memory changed by a caller", async () => {
    const registry = createRegistry(fakeDatabase());
    const tenant = await registry.tenant(bySlug("acme"));
    expect(() => Object.assign(tenant, { id: GLOBEX.id })).toThrow(TypeError);
  });
});

describe("forget", () => {
  it("drops one tenant under all its names, and leaves the others", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    const names: TenantClaim[] = [byId(ACME.id), bySlug("acme"), { by: "domain", domain: "billing.acme.example" }];
    for (const claim of [...names, bySlug("globex")]) await registry.tenant(claim);
    expect(database.asked.length).toBe(4);

    registry.forget(ACME.id);
    for (const claim of [...names, bySlug("globex")]) await registry.tenant(claim);
    expect(database.asked.length).toBe(7);
  });

  it("drops what was unknown, so that a tenant just made is found", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    expect(await registry.find(bySlug("initech"))).toBeUndefined();
    database.tenants.push({ ...ACME, id: NOBODY, slug: "initech" });
    expect(await registry.find(bySlug("initech"))).toBeUndefined();
    registry.forget(NOBODY);
    expect(await registry.find(bySlug("initech"))).toMatchObject({ id: NOBODY });
  });

  it("keeps a look-up that was under way from being joined", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    const { closed, open } = gate();
    database.hold = closed;
    const before = registry.tenant(bySlug("acme"));

    database.tenants = [{ ...ACME, epoch: 2 }];
    registry.forget(ACME.id);
    const after = registry.tenant(bySlug("acme"));
    open();
    expect(await before).toMatchObject({ epoch: 1 });
    expect(await after).toMatchObject({ epoch: 2 });
    expect(await registry.tenant(bySlug("acme"))).toMatchObject({ epoch: 2 });
    expect(database.asked.length).toBe(2);
  });

  it("keeps what it answers from being remembered", async () => {
    const database = fakeDatabase();
    const registry = createRegistry(database);
    const { closed, open } = gate();
    database.hold = closed;
    const known = registry.tenant(bySlug("acme"));
    const unknown = registry.find(bySlug("initech"));
    database.tenants = [
      { ...ACME, epoch: 2 },
      { ...ACME, id: NOBODY, slug: "initech" },
    ];
    registry.forget(ACME.id);
    open();
    expect(await known).toMatchObject({ epoch: 1 });
    expect(await unknown).toBeUndefined();
    expect(await registry.tenant(bySlug("acme"))).toMatchObject({ epoch: 2 });
    expect(await registry.find(bySlug("initech"))).toMatchObject({ id: NOBODY });
  });
});
