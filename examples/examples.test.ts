import { fileURLToPath } from "node:url";
import { apiKey, createRowhouse, createTokenVerifier, jwtClaim, migrate, signToken, type Rowhouse } from "rowhouse";
import request from "supertest";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../test/helpers/database.ts";
import { createApp } from "./adopt/app.ts";
import { notesFeature } from "./first-feature/notes.ts";
import { summariesFeature } from "./jobs/summaries.ts";
import { until } from "../test/jobs/job-server.ts";

const tokens = { secret: "a secret of the tests, 32 bytes long at least", issuer: "test", audience: "test" };
const migrations = [{ source: "notes", path: fileURLToPath(new URL("./first-feature/migrations", import.meta.url)) }];

let server: TestDatabase;
let rowhouse: Rowhouse;
const bearer: Record<string, string> = {};

beforeAll(async () => {
  server = await createTestDatabase();
  // The fixtures of the tests have a table of that name too.
  await server.asOwner("drop table public.notes cascade");
  await migrate({ ownerUrl: server.ownerUrl, rolePrefix: server.rolePrefix, folders: migrations });
  rowhouse = await createRowhouse({
    url: server.appUrl,
    features: [notesFeature, summariesFeature],
    migrations,
    resolvers: [jwtClaim({ verifier: createTokenVerifier(tokens) }), apiKey()],
    log: "silent",
  });
  for (const slug of ["acme", "globex"]) {
    const { id } = await server.createTenant({ slug });
    const token = await signToken({ ...tokens, subject: "user", tenantId: id, scopes: ["write"], expiresIn: 600 });
    bearer[slug] = `Bearer ${token}`;
  }
});

afterAll(async () => {
  await rowhouse.close();
  await server.drop();
});

it("a job does its work after the request, as the tenant that asked", async () => {
  const as = (slug: string) => ({ authorization: bearer[slug]! });
  const worker = rowhouse.work({ url: server.workerUrl });
  const body = "a text of more than twenty letters";
  const { body: note } = (await request(rowhouse.app).post("/notes").set(as("acme")).send({ title: "long", body })) as {
    body: { id: string };
  };
  await request(rowhouse.app).post(`/notes/${note.id}/summary`).set(as("globex")).expect(404);
  const first = await request(rowhouse.app).post(`/notes/${note.id}/summary`).set(as("acme")).expect(200);
  expect(first.body).toMatchObject({ isNew: true });
  await until(async () => {
    const { body: now } = (await request(rowhouse.app).get(`/notes/${note.id}`).set(as("acme"))) as {
      body: { body: string };
    };
    return now.body === "a text of more than …";
  });
  await worker.stop();
  await request(rowhouse.app).delete(`/notes/${note.id}`).set(as("acme"));
  await server.asOwner("delete from public.notes where id = $1", [note.id]);
});

it("the first feature keeps two tenants apart", async () => {
  const app = request(rowhouse.app);
  const note = await app.post("/notes").set("Authorization", bearer["acme"]!).send({ title: "First" }).expect(201);
  await app.get(`/notes/${note.body.id}`).set("Authorization", bearer["acme"]!).expect(200);
  await app.get(`/notes/${note.body.id}`).set("Authorization", bearer["globex"]!).expect(404);
  await app.post("/notes").set("Authorization", bearer["acme"]!).send({ title: "First" }).expect(409);
  await app.post("/notes").set("Authorization", bearer["globex"]!).send({ title: "First" }).expect(201);
});

it("an Express application of one's own gets the same transaction", async () => {
  const app = request(createApp(rowhouse));
  await app.get("/hello").expect(200, "no tenant needed");
  await app.get("/notes").expect(401);
  await app.post("/notes").set("Authorization", bearer["acme"]!).send({ title: "Second" }).expect(201);
  await app.post("/notes").set("Authorization", bearer["acme"]!).send({ title: "Second" }).expect(409);
  const mine = await app.get("/notes").set("Authorization", bearer["acme"]!).expect(200);
  expect(mine.body.map((note: { title: string }) => note.title)).toEqual(["First", "Second"]);
  const theirs = await app.get("/notes").set("Authorization", bearer["globex"]!).expect(200);
  expect(theirs.body).toHaveLength(1);
});
