import { describe, expect, it } from "vitest";
import { generateApiKey } from "../../../src/auth/api-key.ts";
import { createRegistry } from "../../../src/tenancy/registry.ts";
import { apiKey } from "../../../src/tenancy/resolvers/api-key.ts";
import { ACME, fakeDatabase } from "../fake-database.ts";
import { describeResolver, request } from "../resolver.case.ts";

const made = generateApiKey();
const other = generateApiKey();
const database = fakeDatabase();
database.apiKeys[made.prefix] = {
  id: "key-1",
  tenant_id: ACME.id,
  secret_hash: made.secretHash,
  scopes: ["orders:read"],
};
const lookups = createRegistry(database);

const bearer = (text: string) => request("", { authorization: `Bearer ${text}` });
const acme = {
  tenant: { by: "id", id: ACME.id },
  principal: { kind: "api-key", id: "key-1", scopes: ["orders:read"] },
} as const;
const wrongSecret = made.key.slice(0, "rh_123456789012_".length) + other.key.slice("rh_123456789012_".length);
const invalid = "The API key is not valid: mistyped, expired or revoked.";

describeResolver({
  name: "api-key",
  resolver: apiKey(),
  lookups,
  accepted: [
    { what: "a bearer key", request: bearer(made.key), means: acme },
    { what: "X-API-Key", request: request("", { "x-api-key": made.key }), means: acme },
    {
      what: "the same key twice",
      request: request("", { authorization: `Bearer ${made.key}`, "x-api-key": made.key }),
      means: acme,
    },
    {
      what: "X-API-Key beside another scheme",
      request: request("", { authorization: "Basic YWRhOnB3", "x-api-key": made.key }),
      means: acme,
    },
  ],
  passedOver: [
    { what: "a request without credentials", request: request("acme.example.com") },
    { what: "a token", request: bearer("eyJhbGciOiJIUzI1NiJ9.e30.x") },
    { what: "another scheme", request: request("", { authorization: "Basic cmhfYWJj" }) },
  ],
  refused: [
    { what: "an unknown key", request: bearer(other.key), message: invalid },
    { what: "a key with another's secret", request: bearer(wrongSecret), message: invalid },
    { what: "a malformed key", request: bearer("rh_abc"), message: invalid },
    { what: "a header without a key", request: request("", { "x-api-key": "abc" }), message: invalid },
    { what: "an empty header", request: request("", { "x-api-key": "" }), message: invalid },
    {
      what: "two keys",
      request: request("", { authorization: `Bearer ${made.key}`, "x-api-key": other.key }),
      message: "The request carries two API keys. Send one.",
    },
    {
      what: "two headers",
      request: request("", { "x-api-key": [made.key, other.key] }),
      message: "The header x-api-key was sent 2 times. Send it once.",
    },
  ],
  secrets: [made.key, other.key, wrongSecret, made.key.slice(16), other.key.slice(16)],
});

describe("apiKey", () => {
  it("asks the database each time, so that a revoked key is refused with the next request", async () => {
    const asked = database.asked.length;
    await apiKey().resolve(bearer(made.key), lookups);
    await apiKey().resolve(bearer(made.key), lookups);
    expect(database.asked.length - asked).toBe(2);
    delete database.apiKeys[made.prefix];
    await expect(apiKey().resolve(bearer(made.key), lookups)).rejects.toMatchObject({
      code: "ERR_UNAUTHENTICATED",
      message: invalid,
    });
  });

  it("does not ask the database for what is not in the form of a key", async () => {
    const asked = database.asked.length;
    await expect(apiKey().resolve(bearer("rh_'; drop table"), lookups)).rejects.toMatchObject({
      code: "ERR_UNAUTHENTICATED",
    });
    await expect(apiKey().resolve(bearer("rh_abc"), lookups)).rejects.toMatchObject({ code: "ERR_UNAUTHENTICATED" });
    expect(database.asked.length).toBe(asked);
  });
});
