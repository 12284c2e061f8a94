import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { SqlConnection } from "../../src/database/sql-connection.ts";
import type { Database } from "../../src/database/types.ts";
import {
  createApiKey,
  createTenant,
  findTenant,
  listApiKeys,
  listTenants,
  resumeTenant,
  revokeApiKey,
  suspendTenant,
} from "../../src/index.ts";
import { parseApiKey } from "../../src/auth/api-key.ts";
import { findApiKey } from "../../src/auth/find-api-key.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let server: TestDatabase;
let owner: SqlConnection;
let database: Database;

beforeAll(async () => {
  server = await createTestDatabase();
  owner = await server.connectAsOwner();
  database = createDatabase({
    url: server.appUrl,
    poolSize: 4,
    tenantLimit: 2,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
});

afterAll(async () => {
  await database.close();
  await owner.end();
  await server.drop();
});

describe("a tenant", () => {
  it("is created, listed, and found by slug and by id", async () => {
    const made = await createTenant(owner, { slug: "acme", name: "Acme Inc." });
    expect(made).toMatchObject({ slug: "acme", name: "Acme Inc.", status: "active", placement: "shared", epoch: 1 });
    expect(await findTenant(owner, "acme")).toEqual(made);
    expect(await findTenant(owner, made.id)).toEqual(made);
    expect((await listTenants(owner)).map((tenant) => tenant.slug)).toContain("acme");
  });

  it("cannot have a malformed or a taken slug", async () => {
    for (const slug of ["", "Acme", "-a", "a-", "a b", "a.b", "ü", "a".repeat(64)]) {
      await expect(createTenant(owner, { slug })).rejects.toMatchObject({
        code: "ERR_TENANT_INVALID",
        message: `${JSON.stringify(slug)} cannot be a slug. Use 1 to 63 lower-case letters, digits and "-", not at the ends.`,
      });
    }
    const twice = await Promise.allSettled([
      createTenant(owner, { slug: "twice" }),
      createTenant(owner, { slug: "twice" }),
    ]);
    expect(twice.map((outcome) => outcome.status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(createTenant(owner, { slug: "twice" })).rejects.toMatchObject({
      code: "ERR_TENANT_INVALID",
      message: 'The slug "twice" is taken. Choose another one.',
    });
    await expect(createTenant(owner, { slug: "named", name: "x".repeat(201) })).rejects.toMatchObject({
      code: "ERR_TENANT_INVALID",
    });
  });

  it("is refused by name when there is none", async () => {
    await expect(findTenant(owner, "nobody")).rejects.toMatchObject({
      code: "ERR_TENANT_NOT_FOUND",
      message: expect.stringContaining('There is no tenant "nobody"'),
    });
    await expect(suspendTenant(owner, "nobody")).rejects.toMatchObject({ code: "ERR_TENANT_NOT_FOUND" });
  });
});

describe("suspending", () => {
  it("waits for the transaction that runs, and then lets none begin", async () => {
    const tenant = await createTenant(owner, { slug: "suspended" });
    const running = database.open(tenant);
    await running.db.execute(sql`select 1`);

    let isSuspended = false;
    const suspending = suspendTenant(owner, "suspended").then((changed) => {
      isSuspended = true;
      return changed;
    });
    await expect
      .poll(
        async () =>
          (await server.asAdmin("select 1 from pg_locks where locktype = 'advisory' and not granted")).rows.length,
      )
      .toBeGreaterThan(0);
    expect(isSuspended).toBe(false);
    await running.commit();
    expect(await suspending).toMatchObject({ status: "suspended" });

    const refused = database.open(tenant);
    await expect(refused.db.execute(sql`select 1`)).rejects.toMatchObject({ code: "ERR_TENANT_SUSPENDED" });
    await refused.rollback();

    expect(await resumeTenant(owner, tenant.id)).toMatchObject({ status: "active" });
    const welcome = database.open(tenant);
    await welcome.db.execute(sql`select 1`);
    await welcome.commit();
  });

  it("gives up on a transaction that does not end, and changes nothing", async () => {
    const tenant = await createTenant(owner, { slug: "busy" });
    const running = database.open(tenant);
    await running.db.execute(sql`select 1`);
    await expect(suspendTenant(owner, "busy", 50)).rejects.toMatchObject({
      code: "ERR_TENANT_BUSY",
      message: expect.stringMatching(
        /still running after 0\.05 s\. The last of them: server process \d+ \(.+\)\. Nothing has changed/,
      ),
    });
    await running.commit();
    expect(await findTenant(owner, "busy")).toMatchObject({ status: "active" });
    // The connection is still good, its transaction over.
    expect(await suspendTenant(owner, "busy")).toMatchObject({ status: "suspended" });
  });

  it("refuses a transaction that was waiting while the suspension went through", async () => {
    const tenant = await createTenant(owner, { slug: "queued" });
    const running = database.open(tenant);
    await running.db.execute(sql`select 1`);
    const waiters = async () =>
      (await server.asAdmin("select 1 from pg_locks where locktype = 'advisory' and not granted")).rows.length;
    const suspending = suspendTenant(owner, "queued");
    await expect.poll(waiters).toBe(1);
    const late = database.open(tenant);
    const refused = late.db.execute(sql`select 1`).then(
      () => "let in",
      (error: { code: string }) => error.code,
    );
    await expect.poll(waiters).toBe(2);
    await running.commit();
    await suspending;
    expect(await refused).toBe("ERR_TENANT_SUSPENDED");
    await late.rollback();
  });

  it("lets other tenants go on", async () => {
    const [held, other] = [await createTenant(owner, { slug: "held" }), await createTenant(owner, { slug: "other" })];
    await suspendTenant(owner, held.id);
    const transaction = database.open(other);
    await transaction.db.execute(sql`select 1`);
    await transaction.commit();
  });
});

describe("an API key", () => {
  it("is good until it is revoked or has expired", async () => {
    const tenant = await createTenant(owner, { slug: "keys" });
    const made = await createApiKey(owner, tenant.id, { name: "ERP", scopes: ["read"] });
    const expired = await createApiKey(owner, tenant.id, { name: "old", scopes: [], expiresIn: 0 });
    const present = (key: string) => findApiKey(database, parseApiKey(key)!);
    expect(await present(made.key)).toMatchObject({ tenantId: tenant.id, scopes: ["read"] });
    expect(await present(expired.key)).toBeUndefined();
    expect(await revokeApiKey(owner, made.prefix)).toMatchObject({ prefix: made.prefix, name: "ERP" });
    expect(await present(made.key)).toBeUndefined();
    expect((await listApiKeys(owner, tenant.id)).map((key) => key.name)).toEqual(["old", "ERP"]);
    await expect(revokeApiKey(owner, "000000000000")).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    // A whole key is not repeated in a message.
    const whole = await revokeApiKey(owner, expired.key).catch((error: Error) => error);
    expect(whole).toMatchObject({ code: "ERR_NOT_FOUND", message: expect.stringContaining("That is no prefix") });
    expect((whole as Error).message).not.toContain(expired.prefix);
    await expect(createApiKey(owner, tenant.id, { name: "", scopes: [] })).rejects.toMatchObject({
      code: "ERR_DATA_INVALID",
    });
  });
});
