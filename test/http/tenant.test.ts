import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { sql } from "drizzle-orm";
import express, { type ErrorRequestHandler, Router } from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scopeOf } from "../../src/http/tenant.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { addCommitTriggers, holdCommits } from "./commit-triggers.ts";
import { gate } from "./held-server.ts";
import { serveTenants, type Parts } from "./tenant-app.ts";

let server: TestDatabase;
let a: { id: string };
let b: { id: string };

beforeAll(async () => {
  server = await createTestDatabase();
  await addCommitTriggers(server);
  a = await server.createTenant({ slug: "a" });
  b = await server.createTenant({ slug: "b" });
});

afterAll(() => server.drop());

const as = ({ id }: { id: string }, headers: Record<string, string> = {}) => ({
  headers: { "x-tenant": id, ...headers },
});
const post = (tenant: { id: string }, headers: Record<string, string> = {}) => ({
  method: "POST",
  ...as(tenant, headers),
});

/** Whether the database holds a note of this text, whoever's it is. */
async function isStored(body: string): Promise<boolean> {
  const { rows } = await server.asOwner("select from public.notes where body = $1", [body]);
  return rows.length > 0;
}

const code = (answer: { body: string }) => (JSON.parse(answer.body) as { code: string }).code;

const transactionId = async (db: ReturnType<Parts["db"]>) =>
  (await db.execute<{ id: string }>(sql`select pg_current_xact_id()::text as id`)).rows[0]!.id;

/** Stores a note of the text in the path and answers 201 with headers of its own. */
const addNote = (app: express.Express, { db }: Parts) =>
  app.post("/notes/:body", async (request, response) => {
    await db().insert(notes).values({ body: request.params.body });
    response.status(201).cookie("session", "1").location("/notes/1").json({ stored: true });
  });

const listNotes = (app: express.Express, { db }: Parts) =>
  app.get("/notes", async (_request, response) => {
    const rows = await db().select({ body: notes.body }).from(notes).orderBy(notes.body);
    response.json(rows.map((row) => row.body));
  });

describe("the request's tenant and transaction", () => {
  it("shows each tenant its own rows", async () => {
    const app = await serveTenants(server, (app, parts) => (addNote(app, parts), listNotes(app, parts)));
    expect((await app.fetch("/notes/own-a", post(a))).status).toBe(201);
    expect((await app.fetch("/notes/own-b", post(b))).status).toBe(201);
    expect((await app.fetch("/notes", as(a))).body).toContain("own-a");
    expect((await app.fetch("/notes", as(a))).body).not.toContain("own-b");
    expect((await app.fetch("/notes", as(b))).body).toContain("own-b");
  });

  it("is one for everything below: the handler, its services, withTenant()", async () => {
    const app = await serveTenants(server, (app, { db, withTenant, context }) =>
      app.post("/", async (request, response) => {
        const ids = [
          await transactionId(db()),
          await withTenant(a.id, () => transactionId(context.current().transaction!.db)),
          await transactionId(scopeOf(request).begin({}).db),
        ];
        response.json({ tenant: context.current().tenant.slug, ids: new Set(ids).size });
      }),
    );
    expect((await app.fetch("/", post(a))).body).toBe('{"tenant":"a","ids":1}');
  });

  it("stays with the request through body parsing above and below, however the body comes", async () => {
    const routes = (app: express.Express, { context, db }: Parts) => {
      app.use(express.json({ limit: "2mb" }), express.text({ limit: "2mb" }));
      app.post("/", async (request, response) => {
        await db().select().from(notes).limit(1);
        response.json([context.current().tenant.slug, JSON.stringify(request.body).length]);
      });
    };
    const below = await serveTenants(server, routes);
    const above = await serveTenants(server, routes, {
      before: [express.json({ limit: "2mb" }), express.text({ limit: "2mb" })],
    });
    const text = JSON.stringify({ text: "x".repeat(1_000_000) });
    const form = { method: "POST", headers: { "content-type": "application/json" } };
    for (const { port } of [below, above]) {
      const answers = [a, b, a, b].map(async (tenant) => {
        const request = httpRequest({
          port,
          agent: false,
          ...form,
          headers: { ...form.headers, "x-tenant": tenant.id },
        });
        request.flushHeaders();
        for (const part of [text.slice(0, 10), text.slice(10, 700_000), text.slice(700_000)]) {
          request.write(part);
          await new Promise(setImmediate);
        }
        request.end();
        const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
        return (await response.toArray()).join("");
      });
      expect(await Promise.all(answers)).toEqual(["a", "b", "a", "b"].map((slug) => `["${slug}",${text.length}]`));
    }
  });

  it("is READ ONLY for GET and HEAD, unless the first to begin it says otherwise", async () => {
    const app = await serveTenants(server, (app, { db }) => {
      app.all("/usual/:body", async (request, response) => {
        await db().insert(notes).values({ body: request.params.body });
        response.json({});
      });
      app.get("/told", async (request, response) => {
        await scopeOf(request).begin({ readOnly: false }).db.insert(notes).values({ body: "by get" });
        response.json({});
      });
    });
    expect((await app.fetch("/usual/get", as(a))).status).toBe(500);
    expect((await app.fetch("/usual/head", { method: "HEAD", ...as(a) })).status).toBe(500);
    expect(app.logs.map((line) => (line["err"] as { code?: string } | undefined)?.code)).toContain(
      "ERR_READ_ONLY_TRANSACTION",
    );
    expect((await app.fetch("/usual/delete", { method: "DELETE", ...as(a) })).status).toBe(200);
    expect((await app.fetch("/told", as(a))).status).toBe(200);
    expect([await isStored("get"), await isStored("head")]).toEqual([false, false]);
    expect([await isStored("delete"), await isStored("by get")]).toEqual([true, true]);
  });

  it("takes no connection before the first query", async () => {
    const busy = gate();
    const app = await serveTenants(
      server,
      (app, { db }) => {
        app.get("/busy", async (_request, response) => {
          await db().select().from(notes).limit(1);
          await busy.promise;
          response.json({});
        });
        app.get("/idle", (_request, response) => void response.json({ queries: scopeOf(_request).queryCount }));
      },
      { database: { poolSize: 1 } },
    );
    const held = app.fetch("/busy", as(a));
    expect((await app.fetch("/idle", as(a))).body).toBe('{"queries":0}');
    busy.open();
    expect((await held).status).toBe(200);
  });

  it("is none where the request says so, and withTenant() opens its own", async () => {
    const app = await serveTenants(server, (app, { withTenant, context }) =>
      app.post("/", async (request, response) => {
        scopeOf(request).holdNone();
        await withTenant(a.id, (db) => db.insert(notes).values({ body: "committed before the refusal" }));
        response.status(409).json({ transaction: context.current().transaction ?? null });
      }),
    );
    const answer = await app.fetch("/", post(a));
    expect([answer.status, answer.body]).toEqual([409, '{"transaction":null}']);
    expect(await isStored("committed before the refusal")).toBe(true);
  });

  it("is not given to a request that names no tenant, or an unknown one", async () => {
    const app = await serveTenants(server, listNotes);
    expect(await app.fetch("/notes")).toMatchObject({ status: 401 });
    const missing = await app.fetch("/notes", as({ id: "00000000-0000-7000-8000-000000000000" }));
    expect([missing.status, code(missing)]).toEqual([404, "ERR_NOT_FOUND"]);
    expect((await app.fetch("/notes", as(a))).status).toBe(200);
  });

  it("is the same when the middleware is mounted twice", async () => {
    const app = await serveTenants(server, (app, parts) => {
      const part = Router().use(parts.tenant);
      part.post("/", async (request, response) => {
        await parts.db().insert(notes).values({ body: "mounted twice" });
        response.json({ tenant: scopeOf(request).tenant.slug });
      });
      app.use("/part", part);
    });
    expect((await app.fetch("/part", post(a))).body).toBe('{"tenant":"a"}');
    expect(await isStored("mounted twice")).toBe(true);
  });

  it("notes which API key was used", async () => {
    const app = await serveTenants(server, listNotes);
    await app.fetch("/notes", as(a, { "x-caller": "key-1" }));
    await app.fetch("/notes", as(a));
    expect(app.usedKeys).toEqual(["key-1"]);
  });

  it("is looked up afresh after the database has refused what was remembered of it", async () => {
    const moved = await server.createTenant();
    const app = await serveTenants(server, listNotes);
    expect((await app.fetch("/notes", as(moved))).status).toBe(200);
    await server.asOwner("update rowhouse.tenants set epoch = 2 where id = $1", [moved.id]);

    expect((await app.fetch("/notes", as(moved))).status).toBe(200);

    await server.asOwner("update rowhouse.tenants set status = 'suspended' where id = $1", [moved.id]);
    const suspended = await app.fetch("/notes", as(moved));
    expect([suspended.status, code(suspended)]).toEqual([403, "ERR_TENANT_SUSPENDED"]);
    await server.asOwner("update rowhouse.tenants set status = 'active' where id = $1", [moved.id]);
    expect((await app.fetch("/notes", as(moved))).status).toBe(200);
  });
});

describe("a tenant that was suspended, under an error handler of the application's own", () => {
  it("is looked up afresh with the next request", async () => {
    const moved = await server.createTenant();
    const app = await serveTenants(server, listNotes, {
      onError: (_error, _request, response, _next) => void response.status(599).json({}),
    });
    expect((await app.fetch("/notes", as(moved))).status).toBe(200);
    await server.asOwner("update rowhouse.tenants set status = 'suspended' where id = $1", [moved.id]);
    expect((await app.fetch("/notes", as(moved))).status).toBe(599);
    await server.asOwner("update rowhouse.tenants set status = 'active' where id = $1", [moved.id]);
    expect((await app.fetch("/notes", as(moved))).status).toBe(200);
  });
});

describe("commit before the response", () => {
  it("stores what is answered below 400, and nothing of what is refused or throws", async () => {
    const app = await serveTenants(server, (app, { db }) => {
      const add = (body: string) => db().insert(notes).values({ body });
      app.post("/good", async (_request, response) => {
        await add("good");
        response.json({});
      });
      app.post("/status", async (_request, response) => {
        await add("status");
        response.status(422).json({});
      });
      app.post("/throws", async () => {
        await add("throws");
        throw new Error("after the insert");
      });
    });
    expect((await app.fetch("/good", post(a))).status).toBe(200);
    expect((await app.fetch("/status", post(a))).status).toBe(422);
    expect((await app.fetch("/throws", post(a))).status).toBe(500);
    expect([await isStored("good"), await isStored("status"), await isStored("throws")]).toEqual([true, false, false]);
  });

  it("answers a COMMIT that fails with a problem, and with no header of the intended answer", async () => {
    const app = await serveTenants(server, addNote);
    const answer = await app.fetch("/notes/refuse-1", post(a));
    expect([answer.status, code(answer)]).toEqual([422, "ERR_CHECK_VIOLATION"]);
    expect(answer.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect([answer.headers["set-cookie"], answer.headers.location, answer.headers.etag]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await isStored("refuse-1")).toBe(false);

    const control = await app.fetch("/notes/accepted", post(a));
    expect([control.status, control.headers.location]).toEqual([201, "/notes/1"]);
  });

  it("gives a foreign error handler no say in that", async () => {
    const onError: ErrorRequestHandler = (_error, _request, response, _next) =>
      void response.status(200).send("all fine");
    const app = await serveTenants(server, addNote, { onError });
    expect((await app.fetch("/notes/refuse-2", post(a))).status).toBe(422);
    expect(await isStored("refuse-2")).toBe(false);
  });

  it("does not take a COMMIT that was answered by ROLLBACK for one", async () => {
    const app = await serveTenants(server, (app, { db }) =>
      app.post("/", async (_request, response) => {
        await db().insert(notes).values({ body: "swallowed" });
        await db()
          .execute(sql`select 1 / 0`)
          .catch(() => {});
        response.json({ ok: true });
      }),
    );
    const answer = await app.fetch("/", post(a));
    expect([answer.status, code(answer)]).toEqual([500, "ERR_INTERNAL"]);
    expect(JSON.stringify(app.logs)).toContain("ERR_TRANSACTION_ABORTED");
    expect(await isStored("swallowed")).toBe(false);
  });

  it("says that the outcome is unknown when the connection is lost during COMMIT, and goes on", async () => {
    const commits = await holdCommits(server);
    const app = await serveTenants(server, addNote, { database: { poolSize: 1 } });
    const answer = app.fetch("/notes/wait-killed", post(a));
    const [pid] = await commits.untilOneWaits();
    await server.asAdmin("select pg_terminate_backend($1)", [pid]);
    expect([(await answer).status, code(await answer)]).toEqual([503, "ERR_COMMIT_UNKNOWN"]);
    expect((await answer).headers["retry-after"]).toBe("1");
    expect((await answer).headers["set-cookie"]).toBeUndefined();
    await commits.release();
    expect((await app.fetch("/notes/after-the-loss", post(a))).status).toBe(201);
    expect([await isStored("wait-killed"), await isStored("after-the-loss")]).toEqual([false, true]);
  });

  it("rolls back for a client that hung up before, and the connection serves the next", async () => {
    const inserted = gate();
    const goOn = gate();
    const lateError = gate<unknown>();
    const app = await serveTenants(
      server,
      (app, parts) => {
        addNote(app, parts);
        app.post("/slow", async (_request, response) => {
          await parts.db().insert(notes).values({ body: "hung up" });
          inserted.open();
          await goOn.promise;
          await parts.db().select().from(notes).catch(lateError.open);
          response.json({});
        });
      },
      { database: { poolSize: 1 } },
    );
    const socket = app.dial(`POST /slow HTTP/1.1\r\nHost: test\r\nX-Tenant: ${a.id}\r\nContent-Length: 0\r\n\r\n`);
    await inserted.promise;
    socket.destroy();
    expect((await app.fetch("/notes/next", post(a))).status).toBe(201);
    goOn.open();
    expect(await lateError.promise).toMatchObject({ code: "ERR_TRANSACTION_CLOSED" });
    expect([await isStored("hung up"), await isStored("next")]).toEqual([false, true]);
  });

  it("lets a COMMIT stand whose client hung up meanwhile", async () => {
    const commits = await holdCommits(server);
    const app = await serveTenants(server, addNote);
    const socket = app.dial(
      `POST /notes/wait-alone HTTP/1.1\r\nHost: test\r\nX-Tenant: ${a.id}\r\nContent-Length: 0\r\n\r\n`,
    );
    await commits.untilOneWaits();
    socket.destroy();
    await commits.release();
    await expect.poll(() => isStored("wait-alone")).toBe(true);
  });

  it("includes queries that nobody awaited, and refuses those that come after the answer", async () => {
    const late = gate<unknown[]>();
    const app = await serveTenants(server, (app, { db }) =>
      app.post("/", (_request, response) => {
        void db().insert(notes).values({ body: "not awaited" }).execute();
        response.json({});
        const refused = [
          db()
            .insert(notes)
            .values({ body: "too late" })
            .execute()
            .catch((error: unknown) => error),
        ];
        response.on("finish", () => {
          refused.push(
            db()
              .insert(notes)
              .values({ body: "much too late" })
              .execute()
              .catch((error: unknown) => error),
          );
          void Promise.all(refused).then(late.open);
        });
      }),
    );
    expect((await app.fetch("/", post(a))).status).toBe(200);
    expect(await late.promise).toEqual([
      expect.objectContaining({ code: "ERR_TRANSACTION_CLOSED" }),
      expect.objectContaining({ code: "ERR_TRANSACTION_CLOSED" }),
    ]);
    expect([await isStored("not awaited"), await isStored("too late"), await isStored("much too late")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("refuses the first query too, when it comes after the answer", async () => {
    const late = gate<unknown>();
    const app = await serveTenants(server, (app, { db }) =>
      app.get("/", (_request, response) => {
        response.json({});
        response.on("finish", () => void db().select().from(notes).execute().catch(late.open));
      }),
    );
    expect((await app.fetch("/", as(a))).status).toBe(200);
    expect(await late.promise).toMatchObject({ code: "ERR_TRANSACTION_CLOSED" });
  });

  it("lets withTenant() open a transaction of its own after the answer", async () => {
    const done = gate();
    const app = await serveTenants(server, (app, { withTenant }) =>
      app.post("/", (_request, response) => {
        response.status(202).json({});
        response.on("finish", () => {
          void withTenant(a.id, (db) => db.insert(notes).values({ body: "afterwards" })).then(() => done.open());
        });
      }),
    );
    expect((await app.fetch("/", post(a))).status).toBe(202);
    await done.promise;
    expect(await isStored("afterwards")).toBe(true);
  });

  it("lets the answer and the rows stand when the handler throws afterwards, and logs it", async () => {
    const app = await serveTenants(server, (app, { db }) =>
      app.post("/", async (_request, response) => {
        await db().insert(notes).values({ body: "threw late" });
        response.status(201).json({});
        throw new Error("too late");
      }),
    );
    expect((await app.fetch("/", post(a))).status).toBe(201);
    expect(await isStored("threw late")).toBe(true);
    expect(JSON.stringify(app.logs)).toContain("too late");
  });

  it("cuts an answer that outgrew what is held when its handler throws: the rows are stored", async () => {
    const app = await serveTenants(server, (app, { db }) =>
      app.post("/", async (_request, response) => {
        await db().insert(notes).values({ body: "half sent" });
        response.write("x".repeat(2 * 1024 * 1024));
        await once(response, "drain");
        throw new Error("half way");
      }),
    );
    await expect(app.fetch("/", post(a))).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await isStored("half sent")).toBe(true);
  });
});

it("all of that at once, over four connections: what was acknowledged is stored, what was refused is not", async () => {
  const hangUps = new Map<string, () => void>();
  const app = await serveTenants(server, (app, { db }) =>
    app.post("/:kind/:body", async (request, response) => {
      const { kind, body } = request.params;
      await db().insert(notes).values({ body });
      if (kind === "throws") throw new Error("after the insert");
      if (kind === "hang-up") {
        hangUps.get(body)?.();
        await once(response, "close");
      }
      if (kind === "large") response.write("x".repeat(2 * 1024 * 1024));
      response.status(kind === "refused" ? 409 : 201).end();
    }),
  );
  const kinds = ["good", "throws", "refuse", "refused", "hang-up", "large"];
  const requests = Array.from({ length: 120 }, async (_, index) => {
    const kind = kinds[index % kinds.length]!;
    const tenant = index % 2 === 0 ? a : b;
    const body = `${kind}-${index}`;
    const hangUp = new AbortController();
    hangUps.set(body, () => hangUp.abort());
    const answer = app.fetch(`/${kind}/${body}`, { ...post(tenant), signal: hangUp.signal });
    const status = await answer.then(
      (answered) => answered.status,
      (error: Error) => error.name,
    );
    return { kind, body, tenant: tenant.id, status };
  });
  const outcomes = await Promise.all(requests);

  const statuses = Object.fromEntries(kinds.map((kind) => [kind, new Set<unknown>()]));
  for (const { kind, status } of outcomes) statuses[kind]!.add(status);
  expect(Object.fromEntries(Object.entries(statuses).map(([kind, seen]) => [kind, [...seen]]))).toEqual({
    good: [201],
    throws: [500],
    refuse: [422],
    refused: [409],
    "hang-up": ["AbortError"],
    large: [201],
  });
  const { rows } = await server.asOwner<{ body: string; tenant_id: string }>(
    "select body, tenant_id from public.notes",
  );
  const stored = new Map(rows.map((row) => [row.body, row.tenant_id]));
  for (const { body, status, tenant } of outcomes)
    expect([body, stored.get(body)]).toEqual([body, status === 201 ? tenant : undefined]);
  const inTransaction = () =>
    server.asAdmin("select from pg_stat_activity where datname = $1 and state like 'idle in transaction%'", [
      server.name,
    ]);
  await expect.poll(async () => (await inTransaction()).rows).toEqual([]);
});
