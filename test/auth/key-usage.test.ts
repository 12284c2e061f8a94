import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { generateApiKey } from "../../src/auth/api-key.ts";
import { createKeyUsage } from "../../src/auth/key-usage.ts";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantRef } from "../../src/database/types.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let server: TestDatabase;
let database: Database;

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
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

async function newTenant(): Promise<TenantRef> {
  return { id: (await server.createTenant()).id, placement: "shared", epoch: 1 };
}

async function newKey(tenant: TenantRef): Promise<string> {
  const { prefix, secretHash } = generateApiKey();
  const { rows } = await server.asOwner<{ id: string }>(
    "insert into rowhouse.api_keys (tenant_id, prefix, secret_hash, name) values ($1, $2, $3, 'test') returning id",
    [tenant.id, prefix, secretHash],
  );
  return rows[0]!.id;
}

async function lastUse(keyId: string): Promise<Date | null> {
  const { rows } = await server.asOwner<{ last_used_at: Date | null }>(
    "select last_used_at from rowhouse.api_keys where id = $1",
    [keyId],
  );
  return rows[0]!.last_used_at;
}

const unexpected = (error: unknown) => {
  throw error;
};

describe("the last use of an API key", () => {
  it("is written at the flush, for keys of several tenants, and only for those that were used", async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    const [first, second, third, unused] = [
      await newKey(one),
      await newKey(one),
      await newKey(other),
      await newKey(other),
    ];
    const usage = createKeyUsage(database, unexpected);
    for (const keyId of [first, second, first]) usage.record(one, keyId);
    usage.record(other, third);
    expect(await lastUse(first)).toBeNull();

    await usage.flush();
    for (const keyId of [first, second, third]) expect(await lastUse(keyId)).toBeInstanceOf(Date);
    expect(await lastUse(unused)).toBeNull();
  });

  it("cannot be written across tenants", async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    const [own, foreign] = [await newKey(one), await newKey(other)];
    const usage = createKeyUsage(database, unexpected);
    usage.record(one, own);
    usage.record(one, foreign);
    await usage.flush();
    expect(await lastUse(own)).toBeInstanceOf(Date);
    expect(await lastUse(foreign)).toBeNull();
  });

  it("is written when it is closed", async () => {
    const tenant = await newTenant();
    const keyId = await newKey(tenant);
    const usage = createKeyUsage(database, unexpected);
    usage.record(tenant, keyId);
    void usage.flush();
    await usage.close();
    expect(await lastUse(keyId)).toBeInstanceOf(Date);
  });

  it("is lost with an error for a tenant that is suspended, and written for the next", async () => {
    const [gone, tenant] = [await newTenant(), await newTenant()];
    const [lost, keyId] = [await newKey(gone), await newKey(tenant)];
    await server.asOwner("update rowhouse.tenants set status = 'suspended' where id = $1", [gone.id]);
    const errors: unknown[] = [];
    const usage = createKeyUsage(database, (error) => errors.push(error));
    usage.record(gone, lost);
    usage.record(tenant, keyId);
    await usage.flush();
    expect(errors).toMatchObject([{ code: "ERR_TENANT_SUSPENDED" }]);
    expect(await lastUse(lost)).toBeNull();
    expect(await lastUse(keyId)).toBeInstanceOf(Date);
  });

  it("is written by itself after a minute, once for all that was noted meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const tenant = { id: "any", placement: "shared", epoch: 1 } as const;
    const opened: TenantRef[] = [];
    const failing = {
      open(of: TenantRef) {
        opened.push(of);
        throw new Error("not here");
      },
    } as unknown as Database;
    const usage = createKeyUsage(failing, () => {});
    usage.record(tenant, "a");
    vi.advanceTimersByTime(30_000);
    usage.record(tenant, "b");
    vi.advanceTimersByTime(29_000);
    await Promise.resolve();
    expect(opened.length).toBe(0);
    vi.advanceTimersByTime(1_000);
    await vi.waitFor(() => expect(opened.length).toBe(1));

    vi.advanceTimersByTime(300_000);
    await usage.flush();
    expect(opened.length).toBe(1);
  });
});
