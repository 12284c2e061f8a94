import { describe, expect, it } from "vitest";
import type { Principal } from "../../src/auth/principal.ts";
import { fromDatabaseError } from "../../src/database/sql-state.ts";
import { Unauthenticated } from "../../src/errors.ts";
import { createRegistry } from "../../src/tenancy/registry.ts";
import { createTenantResolution } from "../../src/tenancy/resolve-tenant.ts";
import type { Resolution, TenantClaim, TenantResolver } from "../../src/tenancy/resolver.ts";
import { requireActive } from "../../src/tenancy/tenant.ts";
import { databaseError } from "./database-error.ts";
import { ACME, fakeDatabase, GLOBEX, NOBODY } from "./fake-database.ts";
import { request } from "./resolver.case.ts";

const NOT_FOUND = { code: "ERR_TENANT_NOT_FOUND", message: "There is no such tenant." };
const ada: Principal = { kind: "user", id: "ada", scopes: [] };
const robot: Principal = { kind: "api-key", id: "key-1", scopes: ["all"] };

/** A source that says always the same. */
function source(name: string, says: Resolution | undefined | Error): TenantResolver & { asked: number } {
  const resolver = {
    name,
    asked: 0,
    resolve() {
      resolver.asked += 1;
      return says instanceof Error ? Promise.reject(says) : Promise.resolve(says);
    },
  };
  return resolver;
}

const token = (id: string, principal = ada) => source("token", { tenant: { by: "id", id }, principal });
const host = (slug: string) => source("host", { tenant: { by: "slug", slug } });
const silent = () => source("silent", undefined);

function resolve(resolvers: TenantResolver[], database = fakeDatabase()) {
  return createTenantResolution(resolvers, createRegistry(database))(request("acme.example.com"));
}

describe("the tenant of a request", () => {
  it("is the one that a token names, with its principal", async () => {
    expect(await resolve([silent(), token(ACME.id), silent()])).toEqual({ tenant: ACME, principal: ada });
  });

  it("is the one that the host names, without a principal", async () => {
    expect(await resolve([silent(), host("acme")])).toEqual({ tenant: ACME, principal: undefined });
  });

  it("is the one on which all sources agree, each of which is asked", async () => {
    const sources = [host("acme"), token(ACME.id), silent(), source("domain", { tenant: byDomain })];
    expect(await resolve(sources)).toEqual({ tenant: ACME, principal: ada });
    expect(sources.map((each) => each.asked)).toEqual([1, 1, 1, 1]);
  });

  it("cannot be found when nothing names one", async () => {
    const nobody = {
      code: "ERR_UNAUTHENTICATED",
      message: "The request names no tenant. Send credentials, or ask at a tenant's own host name.",
    };
    await expect(resolve([silent(), silent()])).rejects.toMatchObject(nobody);
    await expect(resolve([])).rejects.toMatchObject(nobody);
  });

  it("cannot be found when it is unknown or malformed", async () => {
    for (const sources of [
      [token(NOBODY)],
      [token("0")],
      [host("nobody")],
      [host("a_b")],
      [token(NOBODY), host("nobody")],
    ]) {
      await expect(resolve(sources)).rejects.toMatchObject(NOT_FOUND);
    }
  });

  it("cannot be chosen by a host against a credential that is not valid", async () => {
    const refused = new Unauthenticated("The token has expired. Get a new one.");
    const sources = [source("token", refused), host("acme")];
    await expect(resolve(sources)).rejects.toBe(refused);
    await expect(resolve([host("nobody"), source("token", refused)])).rejects.toBe(refused);
  });

  it("cannot be named by two credentials, though they agree", async () => {
    await expect(resolve([token(ACME.id), token(ACME.id, robot)])).rejects.toMatchObject({
      code: "ERR_UNAUTHENTICATED",
      message: "The request carries two credentials. Send one.",
    });
  });
});

describe("sources that disagree", () => {
  const disagreeing: [string, TenantResolver[]][] = [
    ["a token at another tenant's host", [token(ACME.id), host("globex")]],
    ["a host before another tenant's token", [host("globex"), token(ACME.id)]],
    ["a token at an unknown host", [token(ACME.id), host("nobody")]],
    ["a token of an unknown tenant at a known host", [token(NOBODY), host("acme")]],
    ["a malformed token's tenant at a known host", [token(""), host("acme")]],
    ["a third source", [token(ACME.id), host("acme"), host("globex")]],
  ];

  it.each(disagreeing)("are answered like an unknown tenant: %s", async (_, sources) => {
    const error: unknown = await resolve(sources).catch((reason: unknown) => reason);
    const unknown: unknown = await resolve([host("nobody")]).catch((reason: unknown) => reason);
    expect(error).toMatchObject(NOT_FOUND);
    expect(Object.entries(error as Error)).toEqual(Object.entries(unknown as Error));
    expect((error as Error).message).toBe((unknown as Error).message);
    expect((error as Error).cause).toMatchObject({ message: expect.stringMatching(/^Sources disagree: /) });
  });

  it("do not tell whether the other tenant is suspended", async () => {
    const suspended = (...tenants: (typeof ACME)[]) => {
      const database = fakeDatabase();
      database.tenants = [ACME, GLOBEX].map((tenant) =>
        tenants.includes(tenant) ? { ...tenant, status: "suspended" } : tenant,
      );
      return database;
    };
    const sources = () => [token(ACME.id), host("globex")];
    for (const database of [suspended(GLOBEX), suspended(ACME), suspended(ACME, GLOBEX)]) {
      await expect(resolve(sources(), database)).rejects.toMatchObject(NOT_FOUND);
    }
    await expect(resolve([token(ACME.id), host("acme")], suspended(ACME))).rejects.toMatchObject({
      code: "ERR_TENANT_SUSPENDED",
      message: "The tenant is suspended. An operator can resume it.",
    });
  });
});

describe("a tenant that is refused before the transaction", () => {
  it("reads as one that is refused by it", () => {
    const messageOf = (work: () => unknown) => {
      try {
        work();
      } catch (error) {
        return (error as Error).message;
      }
      return undefined;
    };
    expect(messageOf(() => requireActive(undefined))).toBe(fromDatabaseError(databaseError("RH001"), "enter").message);
    expect(messageOf(() => requireActive({ ...ACME, status: "suspended" }))).toBe(
      fromDatabaseError(databaseError("RH002"), "enter").message,
    );
  });
});

const byDomain: TenantClaim = { by: "domain", domain: "billing.acme.example" };
