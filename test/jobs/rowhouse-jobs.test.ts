import supertest from "supertest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineFeature } from "../../src/http/feature.ts";
import { created, found } from "../../src/http/reply.ts";
import { defineJob } from "../../src/jobs/define-job.ts";
import { createRowhouse, type Rowhouse } from "../../src/rowhouse.ts";
import type { TenantResolver } from "../../src/tenancy/resolver.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { until } from "./job-server.ts";

const shout = defineJob("notes.shout", {
  payload: z.object({ body: z.string() }),
  async run({ db, payload }) {
    await db.insert(notes).values({ body: payload.body.toUpperCase() });
  },
});

const feature = defineFeature({
  name: "notes",
  jobs: [shout],
  routes(route) {
    route.get("/notes", {}, ({ db }) => db.select({ body: notes.body }).from(notes).orderBy(notes.body));
    route.post("/notes", { body: z.object({ body: z.string() }) }, async ({ db, body }) => {
      await shout.enqueue(db, body);
      return created(found(await db.insert(notes).values(body).returning({ body: notes.body })));
    });
  },
});

const header: TenantResolver = {
  name: "header",
  resolve: ({ headers }) => Promise.resolve({ tenant: { by: "id", id: String(headers["x-tenant"]) } }),
};

let server: TestDatabase;
let web: Rowhouse;

beforeAll(async () => {
  server = await createTestDatabase();
  web = await createRowhouse({ url: server.appUrl, features: [feature], resolvers: [header], log: "silent" });
});

afterAll(async () => {
  await web.close();
  await server.drop();
});

const bodies = async (tenant: string) =>
  (await supertest(web.app).get("/notes").set("x-tenant", tenant).expect(200)).body as unknown;

describe("jobs of an application", () => {
  it("are run by a worker in another instance, which a commit wakes, and stop with it", async () => {
    const { id } = await server.createTenant();
    const elsewhere = await createRowhouse({
      url: server.appUrl,
      features: [feature],
      resolvers: [header],
      log: "silent",
    });
    elsewhere.work({ url: server.workerUrl });
    const listens = "select from pg_stat_activity where datname = current_database() and query like 'listen%'";
    await until(async () => (await server.asAdmin(listens)).rowCount > 0, "LISTEN");
    await supertest(web.app).post("/notes").set("x-tenant", id).send({ body: "a" }).expect(201);
    await until(
      async () =>
        JSON.stringify(await bodies(id)) === '[{"body":"a"},{"body":"A"}]' ||
        JSON.stringify(await bodies(id)) === '[{"body":"A"},{"body":"a"}]',
    );
    await elsewhere.close();
    const workers = await server.asOwner("select from rowhouse.workers");
    expect(workers.rowCount).toBe(0);
    await supertest(web.app).post("/notes").set("x-tenant", id).send({ body: "b" }).expect(201);
    expect((await server.asOwner("select from rowhouse.ready_jobs")).rowCount).toBe(1);
  });

  it("are run in the same process too", async () => {
    const { id } = await server.createTenant();
    const worker = web.work({ url: server.workerUrl, concurrency: 2 });
    await supertest(web.app).post("/notes").set("x-tenant", id).send({ body: "c" }).expect(201);
    await until(
      async () => (await server.asOwner("select from rowhouse.job_history where tenant_id = $1", [id])).rowCount === 1,
    );
    await worker.stop();
  });
});
