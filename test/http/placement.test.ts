import path from "node:path";
import supertest from "supertest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { tenantSchema } from "../../src/database/role-names.ts";
import { created, found } from "../../src/http/reply.ts";
import { defineFeature } from "../../src/http/feature.ts";
import { type MoveStep, moveTenant } from "../../src/lifecycle/move/move-tenant.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { createRowhouse, type Rowhouse } from "../../src/rowhouse.ts";
import type { TenantResolver } from "../../src/tenancy/resolver.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const FOLDERS = [{ source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") }];

const feature = defineFeature({
  name: "notes",
  routes(route) {
    route.get("/notes", {}, ({ db }) => db.select({ body: notes.body }).from(notes));
    route.post("/notes", { body: z.object({ body: z.string() }) }, async ({ db, body }) =>
      created(found(await db.insert(notes).values(body).returning({ body: notes.body }))),
    );
  },
});

const header: TenantResolver = {
  name: "header",
  resolve: ({ headers }) => Promise.resolve({ tenant: { by: "id", id: String(headers["x-tenant"]) } }),
};

const PARTS = { features: [feature], migrations: FOLDERS, resolvers: [header], log: "silent" as const };

let server: TestDatabase;
let rowhouse: Rowhouse;
let shared: string;
let dedicated: string;

beforeAll(async () => {
  server = await createTestDatabase();
  await using owner = await server.connectAsOwner();
  const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  const options = { adminUrl, ownerUrl, rolePrefix, folders: FOLDERS };
  dedicated = (await createDedicatedTenant(owner, { slug: "dedicated" }, options)).id;
  shared = (await server.createTenant()).id;
  rowhouse = await createRowhouse({ ...PARTS, url: server.appUrl });
});

afterAll(async () => {
  await rowhouse.close();
  await server.drop();
});

const as = (tenant: string) => supertest.agent(rowhouse.app).set("x-tenant", tenant);

const setState = (target: string, state: "applied" | "running") =>
  server.asOwner(
    `update rowhouse.migrations set state = $2, applied_at = case $2 when 'applied' then now() end
     where target = $1 and id = 'test/0001_notes.sql'`,
    [target, state],
  );

describe("a route", () => {
  it("refuses a tenant whose schema is behind the code, and no other, until it is brought up", async () => {
    await setState(tenantSchema(dedicated), "running");
    const refused = await as(dedicated).get("/notes").expect(503);
    expect(refused.body).toMatchObject({ code: "ERR_SCHEMA_OUTDATED" });
    await as(shared).get("/notes").expect(200, []);
    await setState(tenantSchema(dedicated), "applied");
    await as(dedicated).get("/notes").expect(200, []);
  });

  it("serves both placements, each its own rows, and repeats a request once", async () => {
    for (const tenant of [shared, dedicated]) {
      const post = () =>
        as(tenant)
          .post("/notes")
          .set("idempotency-key", "k")
          .send({ body: `of ${tenant}` });
      await post().expect(201);
      expect((await post().expect(201)).headers["idempotency-replayed"]).toBe("true");
      await as(tenant)
        .get("/notes")
        .expect(200, [{ body: `of ${tenant}` }]);
    }
  });

  it("waits while the tenant is moved, follows it, and gives up with 503 and Retry-After after lock_timeout", async () => {
    const { id } = await server.createTenant();
    const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
    const move = (to: "schema" | "shared") => moveTenant(id, { to, adminUrl, ownerUrl, rolePrefix, folders: FOLDERS });
    await as(id).post("/notes").send({ body: "before" }).expect(201);
    const waiting: Promise<unknown>[] = [];
    const onStep = ({ step, table }: MoveStep) => {
      if (step === "copy" && table === "notes")
        waiting.push(as(id).post("/notes").send({ body: "meanwhile" }).expect(201));
    };
    await moveTenant(id, { to: "schema", adminUrl, ownerUrl, rolePrefix, folders: FOLDERS, onStep });
    await Promise.all(waiting);
    expect(waiting.length).toBeGreaterThan(0);
    await as(id)
      .get("/notes")
      .expect(200)
      .expect(({ body }) => expect(body).toContainEqual({ body: "before" }));
    await move("shared");
    await as(id).get("/notes").expect(200);

    await using owner = await server.connectAsOwner();
    await owner.query("begin");
    await owner.query("select pg_advisory_xact_lock(rowhouse.tenant_lock($1))", [id]);
    const url = new URL(server.appUrl);
    url.searchParams.set("options", "-c lock_timeout=100ms");
    await using impatient = await createRowhouse({ ...PARTS, url: url.href });
    const refused = await supertest(impatient.app).get("/notes").set("x-tenant", id).expect(503);
    expect(refused.body).toMatchObject({ code: "ERR_TENANT_BUSY" });
    expect(refused.headers["retry-after"]).toBe("1");
    await owner.query("rollback");
    await supertest(impatient.app).get("/notes").set("x-tenant", id).expect(200);
  });

  it("joins withTenant() in a dedicated schema as in the shared one", async () => {
    for (const tenant of [shared, dedicated]) {
      const rows = await rowhouse.withTenant(tenant, (db) =>
        db.transaction((inner) => inner.select({ body: notes.body }).from(notes)),
      );
      expect(rows).toEqual([{ body: `of ${tenant}` }]);
    }
  });
});
