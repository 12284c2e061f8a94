import { request as httpRequest } from "node:http";
import { once } from "node:events";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { createServer, type Server } from "node:http";
import { eq, sql } from "drizzle-orm";
import { text } from "drizzle-orm/pg-core";
import { pino } from "pino";
import supertest from "supertest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  created,
  createRowhouse,
  defineFeature,
  found,
  idOf,
  json,
  noContent,
  tenantTable,
  type Rowhouse,
  type TenantResolver,
} from "../../src/index.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const notes = tenantTable("notes", { body: text().notNull() });

let server: TestDatabase;
let rowhouse: Rowhouse;
let http: Server;
let a: string;
let b: string;
const logged: string[] = [];
let inHandler = () => {};

const feature = defineFeature({
  name: "notes",
  tables: { notes },
  routes(route) {
    const byId = { params: { id: idOf(notes) } };
    route.get("/notes", { query: { limit: z.coerce.number().int().max(10).optional() } }, async ({ db, query }) =>
      db
        .select()
        .from(notes)
        .orderBy(notes.body)
        .limit(query.limit ?? 10),
    );
    route.post(
      "/notes",
      { body: z.object({ body: z.string().min(1), tags: z.array(z.string()).optional() }) },
      async ({ db, body }) => created(found(await db.insert(notes).values({ body: body.body }).returning())),
    );
    route.get("/notes/:id", byId, async ({ db, params }) =>
      found(await db.select().from(notes).where(eq(notes.id, params.id))),
    );
    route.delete("/notes/:id", { ...byId, scopes: ["admin"] }, () => noContent());
    route.post("/fails", {}, async ({ db }) => {
      await db.insert(notes).values({ body: "of a handler that throws" });
      throw new Error("a secret of the inside");
    });
    route.post("/refuses", {}, async ({ db }) => {
      await db.insert(notes).values({ body: "of a handler that refuses" });
      return json({ message: "no" }, { status: 409 });
    });
    route.get("/writes", {}, async ({ db }) => db.insert(notes).values({ body: "by GET" }));
    route.get("/writes-openly", { transaction: "read write" }, async ({ db }) => {
      await db.insert(notes).values({ body: "by GET, openly" });
    });
    route.get("/values", {}, () => ({
      big: 2n ** 60n,
      bytes: Buffer.from("hi"),
      date: new Date(0),
      missing: undefined,
    }));
    route.get("/money", {}, () => ({ price: { toJSON: () => ({ cents: 5n }) } }));
    route.get("/circle", {}, () => {
      const circle: Record<string, unknown> = {};
      return Object.assign(circle, { circle });
    });
    route.get("/typed", {}, () => json([1], { headers: { "Content-Type": "application/hal+json", ETag: '"v7"' } }));
    route.get("/teapot", {}, () => json({}, { status: 418 }));
    route.post("/parallel", {}, async ({ db }) => {
      const rows = await Promise.all(["p1", "p2", "p3"].map((body) => db.insert(notes).values({ body }).returning()));
      return rows.flat().length;
    });
    route.get("/none", { transaction: "none" }, async (input) => {
      const before = await input.transaction((db) => db.select().from(notes));
      await input.transaction((db) => db.insert(notes).values({ body: "in a short transaction" }));
      return before.length;
    });
    route.get("/sleeps", {}, async ({ db, signal }) => {
      await db.execute(sql`select 1`);
      inHandler();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      inHandler();
    });
  },
});

const header: TenantResolver = {
  name: "header",
  resolve: ({ headers }) =>
    Promise.resolve(
      headers["x-tenant"] === undefined
        ? undefined
        : { tenant: { by: "id", id: String(headers["x-tenant"]) }, principal: { kind: "user", id: "u", scopes: [] } },
    ),
};

beforeAll(async () => {
  server = await createTestDatabase();
  rowhouse = await createRowhouse({
    url: server.appUrl,
    features: [feature],
    resolvers: [header],
    log: pino({ level: "debug" }, { write: (line: string) => void logged.push(line) }),
  });
  http = createServer(rowhouse.app).listen(0, "127.0.0.1");
  a = (await server.createTenant()).id;
  b = (await server.createTenant()).id;
});

afterAll(async () => {
  http.close();
  await rowhouse.close();
  await server.drop();
});

const as = (tenant: string) => supertest.agent(http).set("x-tenant", tenant);
const bodies = async (tenant: string) =>
  (await server.asOwner("select body from public.notes where tenant_id = $1 order by body", [tenant])).rows.map(
    (row) => row["body"],
  );

/** The whole answer as it came over the wire, less what may differ. */
function raw(tenant: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = http.address() as AddressInfo;
    const outgoing = httpRequest({ port, path, headers: { "x-tenant": tenant } }, (response) => {
      const id = String(response.headers["x-request-id"]);
      const headers = response.rawHeaders.filter((_, n, all) => !["Date", "X-Request-Id"].includes(all[n - (n % 2)]!));
      let body = "";
      response.on("data", (chunk: Buffer) => (body += chunk.toString()));
      response.on("end", () => resolve([response.statusCode, ...headers, body.replaceAll(id, "")].join("\n")));
    });
    outgoing.on("error", reject).end();
  });
}

describe("a missing resource and another tenant's", () => {
  it("are answered alike, to the byte", async () => {
    const theirs = await as(b).post("/notes").send({ body: "of b" }).expect(201);
    const foreign = await raw(a, `/notes/${theirs.body.id}`);
    const missing = await raw(a, "/notes/00000000-0000-7000-8000-000000000000");
    expect(foreign).toBe(missing);
    expect(foreign).toContain("404");
    await as(b).get(`/notes/${theirs.body.id}`).expect(200);
  });
});

describe("a problem", () => {
  it("names every value that is wrong, without repeating it", async () => {
    const { body, headers } = await as(a)
      .post("/notes")
      .send({ body: "", tags: ["ok", 7] })
      .expect(400);
    expect(headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(body).toMatchObject({
      code: "ERR_REQUEST_INVALID",
      status: 400,
      type: "urn:rowhouse:error:ERR_REQUEST_INVALID",
    });
    expect(body.errors.map((error: { path: string }) => error.path)).toEqual(["body.body", "body.tags[1]"]);
    expect(body.requestId).toBe(headers["x-request-id"]);
    const query = await as(a).get("/notes?limit=11").expect(400);
    expect(query.body.errors[0].path).toBe("query.limit");
    const params = await as(a).get("/notes/nonsense").expect(400);
    expect(params.body.errors[0].path).toBe("params.id");
  });

  it("is the answer to every malformed request", async () => {
    const codes: [supertest.Test, number, string][] = [
      [as(a).post("/notes").set("content-type", "application/json").send("{"), 400, "ERR_REQUEST_INVALID"],
      [as(a).post("/notes").set("content-type", "text/plain").send("hello"), 415, "ERR_MEDIA_TYPE_UNSUPPORTED"],
      [
        as(a)
          .post("/notes")
          .send({ body: "x".repeat(1024 * 1024) }),
        413,
        "ERR_BODY_TOO_LARGE",
      ],
      [as(a).post("/notes").send({ body: "nul \u0000" }), 422, "ERR_DATA_INVALID"],
      [as(a).get("/notes/%ff"), 400, "ERR_REQUEST_INVALID"],
      [as(a).get("/nowhere"), 404, "ERR_NOT_FOUND"],
      [as(a).put("/notes").send({}), 405, "ERR_METHOD_NOT_ALLOWED"],
      [as(a).delete("/notes/00000000-0000-7000-8000-000000000000"), 403, "ERR_FORBIDDEN"],
      [supertest(http).get("/notes"), 401, "ERR_UNAUTHENTICATED"],
      [as("00000000-0000-7000-8000-000000000000").get("/notes"), 404, "ERR_NOT_FOUND"],
      [as("no id").get("/notes"), 404, "ERR_NOT_FOUND"],
    ];
    for (const [test, status, code] of codes) {
      const answer = await test;
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    }
    const refused = await as(a).put("/notes");
    expect(refused.headers["allow"]).toBe("GET, POST, HEAD, OPTIONS");
    await as(a).options("/notes").expect(204);
    await as(a).head("/notes").expect(200);
    expect((await supertest(http).get("/notes")).headers["www-authenticate"]).toContain("Bearer");
  });

  it("tells nothing of the inside, and the log has the reason", async () => {
    const { body } = await as(a).post("/fails").expect(500);
    expect(body).toMatchObject({ code: "ERR_INTERNAL" });
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(logged.some((line) => line.includes("a secret of the inside") && line.includes(body.requestId))).toBe(true);
    expect(await bodies(a)).not.toContain("of a handler that throws");
  });

  it("is given to a suspended tenant, until it is resumed", async () => {
    const { id } = await server.createTenant();
    await as(id).get("/notes").expect(200);
    await server.asOwner("update rowhouse.tenants set status = 'suspended' where id = $1", [id]);
    expect((await as(id).get("/notes")).body.code).toBe("ERR_TENANT_SUSPENDED");
    await server.asOwner("update rowhouse.tenants set status = 'active' where id = $1", [id]);
    await as(id).get("/notes").expect(200);
  });
});

describe("a handler", () => {
  it("stores nothing when it answers 400 or above", async () => {
    await as(a).post("/refuses").expect(409);
    expect(await bodies(a)).not.toContain("of a handler that refuses");
  });

  it("cannot write in GET unless its route says so", async () => {
    await as(a).get("/writes").expect(500);
    await as(a).get("/writes-openly").expect(204);
    expect(await bodies(a)).toContain("by GET, openly");
    expect(await bodies(a)).not.toContain("by GET");
  });

  it("answers dates, bigints and bytes in JSON", async () => {
    const { body } = await as(a).get("/values").expect(200);
    expect(body).toEqual({ big: "1152921504606846976", bytes: "aGk=", date: "1970-01-01T00:00:00.000Z" });
  });

  it("answers what an object makes of itself, and a cycle as a fault", async () => {
    await as(a)
      .get("/money")
      .expect(200, { price: { cents: "5" } });
    await as(a).get("/circle").expect(500);
  });

  it("answers 304 to who has the answer already", async () => {
    const { headers, text } = await as(a).get("/values").expect(200);
    expect(headers).toMatchObject({ "content-length": String(text.length), "cache-control": "private, no-cache" });
    const again = await as(a).get("/values").set("If-None-Match", headers["etag"]!).expect(304);
    expect([again.text, again.headers["content-type"], again.headers["etag"]]).toEqual([
      "",
      undefined,
      headers["etag"],
    ]);
    await as(a).head("/values").set("If-None-Match", headers["etag"]!).expect(304);
    await as(a).get("/values").set("If-None-Match", '"other"').expect(200);
    expect((await as(a).head("/values").expect(200)).headers).toMatchObject({
      etag: headers["etag"],
      "content-length": headers["content-length"],
    });
  });

  it("keeps a handler's own type and tag, and gives none to refusals and writes", async () => {
    const typed = await as(a).get("/typed").expect(200);
    expect(typed.headers).toMatchObject({ "content-type": "application/hal+json", etag: '"v7"' });
    await as(a).get("/typed").set("If-None-Match", '"v7"').expect(304);
    expect((await as(a).get("/teapot").expect(418)).headers["etag"]).toBeUndefined();
    expect((await as(a).post("/notes").send({ body: "without a tag" }).expect(201)).headers["etag"]).toBeUndefined();
  });

  it("may send queries side by side", async () => {
    await as(a).post("/parallel").expect(200, "3");
    expect(await bodies(a)).toEqual(expect.arrayContaining(["p1", "p2", "p3"]));
  });

  it("may hold no transaction and open short ones", async () => {
    await as(a).get("/none").expect(200);
    expect(await bodies(a)).toContain("in a short transaction");
  });

  it("hears when its client hangs up", async () => {
    const entered = new Promise<void>((resolve) => (inHandler = resolve));
    const { port } = http.address() as AddressInfo;
    const outgoing = httpRequest({ port, path: "/sleeps", headers: { "x-tenant": a, "x-request-id": "gone" } });
    outgoing.on("error", () => {}).end();
    await entered;
    const left = new Promise<void>((resolve) => (inHandler = resolve));
    outgoing.destroy();
    await left;
    await expect
      .poll(() => logged.some((line) => line.includes('"gone"') && line.includes('"msg":"request"')))
      .toBe(true);
    const line = logged.find((entry) => entry.includes('"gone"') && entry.includes('"msg":"request"'));
    expect(JSON.parse(line!)).toMatchObject({ route: "/sleeps", tenant: a, queries: 1, aborted: true });
  });
});

describe("a request", () => {
  it("keeps its id, or is given one when it is malformed", async () => {
    const kept = await as(a).get("/notes").set("x-request-id", "trace-1.a_B");
    expect(kept.headers["x-request-id"]).toBe("trace-1.a_B");
    const replaced = await as(a).get("/notes").set("x-request-id", "no spaces please");
    expect(replaced.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("leaves one line in the log, and no secret", async () => {
    await as(a).get("/notes").set("x-request-id", "logged-one").set("authorization", "Bearer s3cret").expect(200);
    await expect.poll(() => logged.filter((line) => line.includes("logged-one"))).toHaveLength(1);
    const [line] = logged.filter((entry) => entry.includes("logged-one"));
    expect(JSON.parse(line!)).toMatchObject({
      msg: "request",
      method: "GET",
      route: "/notes",
      status: 200,
      tenant: a,
      queries: 1,
      durationMs: expect.any(Number),
    });
    expect(logged.join("")).not.toContain("s3cret");
  });

  it("is refused when it brings two credentials of one kind", async () => {
    const twice = await new Promise<number | undefined>((resolve, reject) => {
      const { port } = http.address() as AddressInfo;
      const outgoing = httpRequest({
        port,
        path: "/notes",
        headers: ["x-tenant", a, "host", "localhost", "authorization", "Bearer x", "authorization", "Bearer y"],
      });
      outgoing
        .on("response", (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(twice).toBe(401);
  });

  it("is answered with safe headers and without Express's name", async () => {
    const { headers } = await as(a).get("/notes");
    expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "x-frame-options": "SAMEORIGIN" });
    expect(headers).toMatchObject({ "cache-control": "private, no-cache", vary: "Authorization, X-API-Key" });
    expect(headers["x-powered-by"]).toBeUndefined();
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.any(String),
    });
  });
});

describe("the server", () => {
  it("finishes what is in flight when it is closed, and is not ready meanwhile", async () => {
    const own = await createRowhouse({ url: server.appUrl, features: [feature], resolvers: [header], log: "silent" });
    const { port } = await own.listen({ port: 0, host: "127.0.0.1" });
    const lock = await server.connectAsOwner();
    await lock.query("begin");
    await lock.query("lock table public.notes");
    const inFlight = fetch(`http://127.0.0.1:${port}/notes`, { headers: { "x-tenant": a, connection: "close" } });
    await expect
      .poll(
        async () =>
          (
            await server.asAdmin(
              "select 1 from pg_locks l join pg_stat_activity s using (pid) where not l.granted and s.datname = $1",
              [server.name],
            )
          ).rows.length,
      )
      .toBeGreaterThan(0);
    const closed = own.close();
    await lock.query("rollback");
    expect((await inFlight).status).toBe(200);
    await closed;
    await own.close();
    await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow("fetch failed");
    await lock.end();
  });
});

describe("a connection on which nothing was sent", () => {
  it("does not hold up the server's end", async () => {
    const own = await createRowhouse({ url: server.appUrl, features: [], resolvers: [header], log: "silent" });
    const { port } = await own.listen({ port: 0, host: "127.0.0.1" });
    const socket = connectSocket(port, "127.0.0.1");
    const ended = once(socket, "close");
    socket.on("error", () => {});
    await once(socket, "connect");
    await fetch(`http://127.0.0.1:${port}/livez`);
    await Promise.all([own.close(), ended]);
    expect(socket.destroyed).toBe(true);
  }, 20_000);
});

describe("defineFeature", () => {
  it("refuses a route whose path and params do not agree, and a second one of the same name", () => {
    const declare = (routes: Parameters<typeof defineFeature>[0]["routes"]) => () =>
      defineFeature({ name: "x", ...(routes ? { routes } : {}) });
    expect(declare((route) => route.get("/x/:id", {}, () => 1))).toThrow("Route GET /x/:id has no schema for :id.");
    expect(declare((route) => route.get("/x", { params: { id: z.uuid() } }, () => 1))).toThrow('a schema for "id"');
    expect(
      declare((route) => {
        route.get("/x", {}, () => 1);
        route.get("/x", {}, () => 2);
      }),
    ).toThrow('Route GET /x is declared twice in feature "x".');
    expect(declare((route) => route.get("/x", { body: z.object({}) }, () => 1))).toThrow("which GET does not have");
    expect(declare((route) => route.get("/x{/:id}", { params: { id: z.uuid() } }, () => 1))).toThrow(
      "an optional part",
    );
  });
});
