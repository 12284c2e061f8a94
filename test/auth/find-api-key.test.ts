import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generateApiKey, type NewApiKey } from "../../src/auth/api-key.ts";
import { findApiKey } from "../../src/auth/find-api-key.ts";
import { createDatabase } from "../../src/database/database.ts";
import type { Database } from "../../src/database/types.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let server: TestDatabase;
let database: Database;
let tenantId: string;

beforeAll(async () => {
  server = await createTestDatabase();
  database = createDatabase({
    url: server.appUrl,
    poolSize: 2,
    tenantLimit: 1,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
  tenantId = (await server.createTenant()).id;
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

async function storedKey(expiresAt: string | null = null): Promise<NewApiKey> {
  const made = generateApiKey();
  await server.asOwner(
    `insert into rowhouse.api_keys (tenant_id, prefix, secret_hash, name, scopes, expires_at)
     values ($1, $2, $3, 'test', '{orders:read,orders:write}', now() + $4::interval)`,
    [tenantId, made.prefix, made.secretHash, expiresAt],
  );
  return made;
}

describe("an API key in the database", () => {
  it("is found with its tenant and its scopes", async () => {
    const key = await findApiKey(database, await storedKey());
    expect(key).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tenantId,
      scopes: ["orders:read", "orders:write"],
    });
  });

  it("cannot be found with another secret, or another prefix", async () => {
    const [one, other] = [await storedKey(), await storedKey()];
    expect(await findApiKey(database, { ...one, secretHash: other.secretHash })).toBeUndefined();
    expect(await findApiKey(database, generateApiKey())).toBeUndefined();
    expect(await findApiKey(database, one)).toBeDefined();
  });

  it("cannot be found after it has expired, by the database's clock", async () => {
    expect(await findApiKey(database, await storedKey("-1 second"))).toBeUndefined();
    expect(await findApiKey(database, await storedKey("1 hour"))).toBeDefined();
  });

  it("cannot be found from the moment that it is revoked", async () => {
    const key = await storedKey();
    expect(await findApiKey(database, key)).toBeDefined();
    await server.asOwner("update rowhouse.api_keys set revoked_at = now() where prefix = $1", [key.prefix]);
    expect(await findApiKey(database, key)).toBeUndefined();
  });

  it("cannot be listed or read by the app's role without a tenant", async () => {
    await storedKey();
    expect((await server.asApp("select * from rowhouse.api_keys")).rows).toEqual([]);
    expect((await server.asOwner("select * from rowhouse.api_keys")).rows).not.toEqual([]);
  });
});
