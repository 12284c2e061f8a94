import express, { type Express, type Request } from "express";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { jsonBody } from "../../src/http/app.ts";
import { idempotency } from "../../src/http/idempotency.ts";
import { sendStream, stream } from "../../src/http/stream.ts";
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
});

beforeEach(async () => {
  await server.asOwner("truncate public.notes cascade");
  [a, b] = [await server.createTenant(), await server.createTenant()];
});

afterAll(() => server.drop());

const request = (tenant: { id: string }, key: string, body: unknown = {}, headers: Record<string, string> = {}) => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "content-type": "application/json", "x-tenant": tenant.id, "idempotency-key": key, ...headers },
});

const countNotes = async (): Promise<number> => {
  const { rows } = await server.asOwner<{ n: number }>("select count(*)::int as n from public.notes");
  return rows[0]!.n;
};

const codeOf = (answer: { body: string }) => (JSON.parse(answer.body) as { code: string }).code;

/** Stores a note at each call, and answers with a number that never repeats. */
function addNotes(app: Express, { db }: Parts): void {
  let calls = 0;
  app.use(jsonBody(), express.text(), idempotency());
  app.all("/notes", async (request: Request, response) => {
    calls += 1;
    const { body = `note ${calls}`, status = 201 } = (request.body ?? {}) as { body?: string; status?: number };
    await db().insert(notes).values({ body });
    response.cookie("one", "1").cookie("two", "2").location(`/notes/${calls}`).status(status).json({ calls });
  });
}

describe("a repetition", () => {
  it("gets the same answer again, and runs nothing", async () => {
    const app = await serveTenants(server, addNotes);
    const first = await app.fetch("/notes", request(a, "k"));
    const second = await app.fetch("/notes", request(a, "k"));

    const { date: _first, connection: _1, ...headers } = first.headers;
    const { date: _second, connection: _2, ...again } = second.headers;
    expect([first.status, first.body]).toEqual([201, '{"calls":1}']);
    expect([second.status, second.body]).toEqual([201, '{"calls":1}']);
    expect(headers).toMatchObject({ location: "/notes/1", "set-cookie": ["one=1; Path=/", "two=2; Path=/"] });
    expect(again).toEqual({ ...headers, "idempotency-replayed": "true" });
    expect(await countNotes()).toBe(1);
  });

  it("gets the answer without a body, a redirect, and bytes", async () => {
    const app = await serveTenants(server, (app) => {
      app.use(idempotency());
      let calls = 0;
      app.post("/empty", (_request, response) => void response.set("x-call", String(++calls)).status(204).end());
      app.post("/moved", (_request, response) => response.redirect(303, `/elsewhere/${++calls}`));
      app.post("/bytes", (_request, response) => void response.send(Buffer.from([0, 255, ++calls])));
    });
    for (const path of ["/empty", "/moved", "/bytes"]) {
      const first = await app.fetch(path, request(a, path));
      const second = await app.fetch(path, request(a, path));
      expect(second.headers["idempotency-replayed"]).toBe("true");
      expect([second.status, second.body, second.headers.location, second.headers["x-call"]]).toEqual([
        first.status,
        first.body,
        first.headers.location,
        first.headers["x-call"],
      ]);
    }
  });

  it("without a key, or by another method, is another request", async () => {
    const app = await serveTenants(server, addNotes);
    const { headers, ...post } = request(a, "k");
    const { "idempotency-key": _key, ...withoutKey } = headers;
    for (let index = 0; index < 2; index += 1) await app.fetch("/notes", { ...post, headers: withoutKey });
    for (let index = 0; index < 2; index += 1) await app.fetch("/notes", { ...post, headers, method: "PUT" });
    expect(await countNotes()).toBe(4);
  });

  it("by another tenant is another request", async () => {
    const app = await serveTenants(server, addNotes);
    expect((await app.fetch("/notes", request(a, "k"))).body).toBe('{"calls":1}');
    expect((await app.fetch("/notes", request(b, "k"))).body).toBe('{"calls":2}');
    expect((await app.fetch("/notes", request(a, "k"))).body).toBe('{"calls":1}');
  });

  it("of a request that was refused, threw, or whose COMMIT failed runs again", async () => {
    const app = await serveTenants(server, addNotes);
    for (const [key, body, status] of [
      ["refused", { body: "x", status: 409 }, 409],
      ["commit failed", { body: "refuse-x" }, 422],
    ] as const) {
      const keyed = request(a, key.replace(" ", "-"), body);
      expect((await app.fetch("/notes", keyed)).status).toBe(status);
      const again = await app.fetch("/notes", keyed);
      expect([again.status, again.headers["idempotency-replayed"]]).toEqual([status, undefined]);
    }
    const { rows } = await server.asOwner("select from rowhouse.idempotency_keys where tenant_id = $1", [a.id]);
    expect([rows.length, await countNotes()]).toEqual([0, 0]);
  });

  it("settles what a connection lost during COMMIT left open", async () => {
    const commits = await holdCommits(server);
    const app = await serveTenants(server, addNotes);
    const keyed = request(a, "k", { body: "wait-for-it" });
    const lost = app.fetch("/notes", keyed);
    const [pid] = await commits.untilOneWaits();
    await server.asAdmin("select pg_terminate_backend($1)", [pid]);
    expect(codeOf(await lost)).toBe("ERR_COMMIT_UNKNOWN");
    await commits.release();
    expect((await app.fetch("/notes", keyed)).status).toBe(201);
    expect((await app.fetch("/notes", keyed)).headers["idempotency-replayed"]).toBe("true");
    expect(await countNotes()).toBe(1);
  });

  it("is answered although the first client hung up during COMMIT", async () => {
    const commits = await holdCommits(server);
    const app = await serveTenants(server, addNotes);
    const { body, headers } = request(a, "k", { body: "wait-alone" });
    const head = Object.entries({ ...headers, host: "test", "content-length": body.length });
    const socket = app.dial(
      `POST /notes HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
    );
    await commits.untilOneWaits();
    socket.destroy();
    await commits.release();
    await expect.poll(countNotes).toBe(1);
    const answer = await app.fetch("/notes", { method: "POST", body, headers });
    expect([answer.body, answer.headers["idempotency-replayed"]]).toEqual(['{"calls":1}', "true"]);
  });
});

describe("a key that comes with another request", () => {
  const others: [string, (tenant: { id: string }) => [path: string, ReturnType<typeof request>]][] = [
    ["body", (tenant) => ["/notes", request(tenant, "k", { body: "other" })]],
    ["bytes of the same JSON", (tenant) => ["/notes", { ...request(tenant, "k"), body: "{ }" }]],
    ["path", (tenant) => ["/notes?page=2", request(tenant, "k")]],
    ["caller", (tenant) => ["/notes", request(tenant, "k", {}, { "x-caller": "key-2" })]],
  ];
  for (const [what, other] of others) {
    it(`is refused: another ${what}`, async () => {
      const app = await serveTenants(server, addNotes);
      const first = await app.fetch("/notes", request(a, "k", {}, { "x-caller": "key-1" }));
      const control = await app.fetch("/notes", request(a, "k", {}, { "x-caller": "key-1" }));
      expect([first.status, control.headers["idempotency-replayed"]]).toEqual([201, "true"]);

      const [path, { headers, ...options }] = other(a);
      const answer = await app.fetch(path, { ...options, headers: { "x-caller": "key-1", ...headers } });
      expect([answer.status, codeOf(answer)]).toEqual([422, "ERR_IDEMPOTENCY_KEY_REUSED"]);
      expect(answer.body).toContain("The Idempotency-Key was used for another request. Send a new key.");
      expect(await countNotes()).toBe(1);
    });
  }

  it("is refused by what was parsed, where no parser keeps the bytes", async () => {
    const app = await serveTenants(server, (app, { db }) => {
      app.use(express.json(), idempotency());
      app.post("/notes", async (request, response) => {
        await db()
          .insert(notes)
          .values({ body: (request.body as { body: string }).body });
        response.status(201).end();
      });
    });
    expect((await app.fetch("/notes", request(a, "k", { body: "x" }))).status).toBe(201);
    expect((await app.fetch("/notes", request(a, "k", { body: "x" }))).headers["idempotency-replayed"]).toBe("true");
    expect((await app.fetch("/notes", request(a, "k", { body: "y" }))).status).toBe(422);
  });
});

describe("a request under way", () => {
  it("refuses its repetition at once, until its COMMIT has been answered", async () => {
    const commits = await holdCommits(server);
    const app = await serveTenants(server, addNotes);
    const keyed = request(a, "k", { body: "wait-in-flight" });
    const first = app.fetch("/notes", keyed);
    await commits.untilOneWaits();
    const during = await app.fetch("/notes", keyed);
    expect([during.status, codeOf(during)]).toEqual([409, "ERR_IDEMPOTENCY_IN_FLIGHT"]);
    expect(during.body).toContain("A request with this Idempotency-Key is under way. Repeat it in a moment.");
    expect((await app.fetch("/notes", request(a, "another"))).status).toBe(201);
    await commits.release();
    expect((await first).status).toBe(201);
    expect((await app.fetch("/notes", keyed)).headers["idempotency-replayed"]).toBe("true");
  });

  it("is one of many that come at once: they run once", async () => {
    const entered = gate();
    let runs = 0;
    const app = await serveTenants(server, (app, { db }) => {
      app.use(jsonBody(), idempotency());
      app.post("/notes", async (_request, response) => {
        runs += 1;
        await db().insert(notes).values({ body: "once" });
        await entered.promise;
        response.status(201).end();
      });
    });
    const answers = ["k", "k", "k"].map((key) => app.fetch("/notes", request(a, key)));
    // Opened by the last refusal: one that came after the answer would be given it again.
    let refusals = 0;
    const refused = answers.map((answer) =>
      answer.then(({ status }) => {
        if (status === 409) refusals += 1;
        if (refusals === 2) entered.open();
      }),
    );
    expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    await Promise.all(refused);
    expect([runs, await countNotes()]).toEqual([1, 1]);
  });
});

describe("a key", () => {
  it("must be 1 to 255 visible ASCII characters", async () => {
    const app = await serveTenants(server, addNotes);
    for (const key of ["", "with space", "x".repeat(256), "\u00e9"]) {
      const answer = await app.fetch("/notes", request(a, key));
      expect([key, answer.status, codeOf(answer)]).toEqual([key, 400, "ERR_REQUEST_INVALID"]);
      expect(answer.body).toContain("The Idempotency-Key must be 1 to 255 visible ASCII characters, e.g. a UUID.");
    }
    expect(await countNotes()).toBe(0);
    for (const key of ["x", "~".repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"']) {
      expect((await app.fetch("/notes", request(a, key))).status).toBe(201);
    }
  });

  it("may be used again after 24 hours, by the database's clock", async () => {
    const app = await serveTenants(server, addNotes);
    await app.fetch("/notes", request(a, "k"));
    const age = (interval: string) =>
      server.asOwner("update rowhouse.idempotency_keys set created_at = now() - $1::interval where tenant_id = $2", [
        interval,
        a.id,
      ]);
    await age("23 hours 59 minutes");
    expect((await app.fetch("/notes", request(a, "k"))).body).toBe('{"calls":1}');
    await age("24 hours");
    expect((await app.fetch("/notes", request(a, "k", { body: "a new day" }))).body).toBe('{"calls":2}');
    expect((await app.fetch("/notes", request(a, "k", { body: "a new day" }))).body).toBe('{"calls":2}');
  });

  it("is removed after its time, a few with each request, and only the tenant's own", async () => {
    const app = await serveTenants(server, addNotes);
    for (const tenant of [a, b]) {
      await server.asOwner(
        `insert into rowhouse.idempotency_keys (tenant_id, key, request_hash, status, headers, created_at)
         select $1, 'old-' || n, decode(repeat('00', 32), 'hex'), 201, '{}', now() - interval '2 days'
         from generate_series(1, 15) n`,
        [tenant.id],
      );
    }
    const left = async (tenant: { id: string }) =>
      (await server.asOwner("select from rowhouse.idempotency_keys where tenant_id = $1", [tenant.id])).rows.length;
    await app.fetch("/notes", request(a, "new-1"));
    expect([await left(a), await left(b)]).toEqual([6, 15]);
    await app.fetch("/notes", request(a, "new-2"));
    expect([await left(a), await left(b)]).toEqual([2, 15]);
  });

  it("is refused where the route holds no transaction to store it in", async () => {
    const app = await serveTenants(server, (app) => {
      app.use(idempotency());
      app.post("/", (request, response) => {
        scopeOf(request).holdNone();
        response.json({});
      });
    });
    const answer = await app.fetch("/", request(a, "k"));
    expect([answer.status, codeOf(answer)]).toEqual([400, "ERR_REQUEST_INVALID"]);
    const { headers, ...options } = request(a, "k");
    const { "idempotency-key": _key, ...withoutKey } = headers;
    expect((await app.fetch("/", { ...options, headers: withoutKey })).status).toBe(200);
  });

  it("keeps a request from running again although its answer was too large to be kept, or a stream", async () => {
    let runs = 0;
    const app = await serveTenants(server, (app, parts) => {
      app.use(idempotency());
      app.post("/large", (_request, response) => {
        runs += 1;
        response.end("x".repeat(1024 * 1024 + 1));
      });
      app.post("/stream", async (request, response) => {
        runs += 1;
        await sendStream(request, response, stream(pieces, { type: "text/plain" }), parts);
      });
    });
    for (const [path, length] of [
      ["/large", 1024 * 1024 + 1],
      ["/stream", 2],
    ] as const) {
      const first = await app.fetch(path, request(a, path));
      expect([first.status, first.body.length]).toEqual([200, length]);
      const second = await app.fetch(path, request(a, path));
      expect([second.status, codeOf(second)]).toEqual([422, "ERR_IDEMPOTENCY_KEY_REUSED"]);
      expect(second.body).toContain("was carried out, but its answer was too large to be kept. Look at its result.");
    }
    expect(runs).toBe(2);
  });
});

// eslint-disable-next-line @typescript-eslint/require-await -- a source is asynchronous by contract
async function* pieces() {
  yield "o";
  yield "k";
}

describe("the bookkeeping", () => {
  it("costs one statement before the handler, and is no query of the handler's afterwards", async () => {
    const counts: number[] = [];
    const app = await serveTenants(server, (app, { db }) => {
      app.use(idempotency());
      app.post("/", async (request, response) => {
        counts.push(scopeOf(request).queryCount);
        await db().insert(notes).values({ body: "counted" });
        response.end();
        counts.push(scopeOf(request).queryCount);
      });
    });
    await app.fetch("/", request(a, "k"));
    // The store is sent by end() itself, in COMMIT's flight.
    expect(counts).toEqual([1, 3]);
  });

  it("turns COMMIT into ROLLBACK when it fails", async () => {
    await server.asOwner("alter table rowhouse.idempotency_keys add constraint no_teapots check (status <> 299)");
    const app = await serveTenants(server, addNotes);
    const answer = await app.fetch("/notes", request(a, "k", { status: 299 }));
    expect([answer.status, codeOf(answer)]).toEqual([500, "ERR_INTERNAL"]);
    expect(await countNotes()).toBe(0);
    expect((await app.fetch("/notes", request(a, "k", { status: 200 }))).status).toBe(200);
  });

  it("is behind the wall: another tenant cannot see, take or replace a stored answer", async () => {
    const app = await serveTenants(server, addNotes);
    await app.fetch("/notes", request(a, "k"));
    await using connection = await server.connectAsApp();
    const rowsSeenBy = async (tenant: { id: string }) => {
      await connection.query("begin");
      await connection.query("select rowhouse.enter($1, 1)", [tenant.id]);
      const { rows } = await connection.query("select key from rowhouse.idempotency_keys");
      await connection.query("rollback");
      return rows;
    };
    expect([await rowsSeenBy(b), await rowsSeenBy(a)]).toEqual([[], [{ key: "k" }]]);
  });
});
