/* eslint-disable @typescript-eslint/require-await -- a source is asynchronous by contract */
import { once } from "node:events";
import { sql } from "drizzle-orm";
import type { Express } from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isStream, sendStream, stream, type StreamInput, type StreamOptions } from "../../src/http/stream.ts";
import { scopeOf } from "../../src/http/tenant.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { addCommitTriggers } from "./commit-triggers.ts";
import { gate, readAll } from "./held-server.ts";
import { serveTenants, type Parts } from "./tenant-app.ts";

let server: TestDatabase;
let a: { id: string };
let b: { id: string };

beforeAll(async () => {
  server = await createTestDatabase();
  await addCommitTriggers(server);
  a = await server.createTenant();
  b = await server.createTenant();
});

afterAll(() => server.drop());

const as = ({ id }: { id: string }) => ({ headers: { "x-tenant": id } });
const get = (tenant: { id: string }) => `GET / HTTP/1.1\r\nHost: test\r\nX-Tenant: ${tenant.id}\r\n\r\n`;

type Source = (input: StreamInput) => AsyncIterable<string | Uint8Array>;

/** A route that answers with a stream, as route() sends one. */
const streaming =
  (source: Source, options: StreamOptions = { type: "text/plain" }) =>
  (app: Express, parts: Parts) =>
    void app.get("/", (request, response) => sendStream(request, response, stream(source, options), parts));

/** Connections of the application that are inside a transaction. */
async function openTransactions(): Promise<number> {
  const { rows } = await server.asAdmin<{ n: number }>(
    "select count(*)::int as n from pg_stat_activity where datname = $1 and state like 'idle in transaction%'",
    [server.name],
  );
  return rows[0]!.n;
}

const backend = sql`select pg_backend_pid() as pid, txid_current_if_assigned() as xid, now()::text as began`;

describe("a stream", () => {
  it("is a value that tells itself apart from other results", () => {
    expect(isStream(stream(async function* () {}, { type: "text/csv" }))).toBe(true);
    expect([isStream({}), isStream(undefined), isStream("text")]).toEqual([false, false, false]);
  });

  it("is sent with its type and headers, piece by piece", async () => {
    const goOn = gate();
    const app = await serveTenants(
      server,
      streaming(
        async function* () {
          yield "first,";
          await goOn.promise;
          yield Buffer.from("second");
        },
        { type: "text/csv", headers: { "Content-Disposition": "attachment" } },
      ),
    );
    const socket = app.dial(get(a));
    const [head] = (await once(socket, "data")) as [Buffer];
    expect(head.toString()).toMatch(/Content-Type: text\/csv[\s\S]*Content-Disposition: attachment[\s\S]*first,/);
    goOn.open();
    expect(await readAll(socket, "\r\n0\r\n")).toContain("second");
  });

  it("has only its head for HEAD, and asks the source for nothing", async () => {
    let isAsked = false;
    const app = await serveTenants(
      server,
      streaming(async function* () {
        isAsked = true;
        yield "body";
      }),
    );
    const answer = await app.fetch("/", { method: "HEAD", ...as(a) });
    expect([answer.status, answer.headers["content-type"], isAsked]).toEqual([200, "text/plain", false]);
    expect((await app.fetch("/", as(a))).body).toBe("body");
  });

  it("tells a listener of events at once that it is connected", async () => {
    const goOn = gate();
    const source: Source = async function* () {
      await goOn.promise;
      yield "data: 1\n\n";
    };
    const app = await serveTenants(server, streaming(source, { type: "text/event-stream" }));
    const socket = app.dial(get(a));
    const [head] = (await once(socket, "data")) as [Buffer];
    expect(head.toString()).toContain("200 OK");
    goOn.open();
    expect(await readAll(socket, "data: 1")).toContain("data: 1");
  });
});

describe("the transactions of a stream", () => {
  it("begin after the request's own was committed", async () => {
    const app = await serveTenants(server, (app, parts) =>
      app.post("/", async (request, response) => {
        await parts.db().insert(notes).values({ body: "from the request" });
        const source: Source = async function* ({ transaction }) {
          const rows = await transaction((own) => own.select({ body: notes.body }).from(notes));
          yield JSON.stringify(rows);
        };
        await sendStream(request, response, stream(source, { type: "text/plain" }), parts);
      }),
    );
    expect((await app.fetch("/", { method: "POST", ...as(a) })).body).toBe('[{"body":"from the request"}]');
  });

  it("do not begin when its COMMIT fails: the problem is answered", async () => {
    let isAsked = false;
    const app = await serveTenants(server, (app, parts) =>
      app.post("/", async (request, response) => {
        await parts.db().insert(notes).values({ body: "refuse-stream" });
        const source: Source = async function* () {
          isAsked = true;
          yield "never";
        };
        response.set("x-intended", "1");
        await sendStream(request, response, stream(source, { type: "text/csv" }), parts);
      }),
    );
    const answer = await app.fetch("/", { method: "POST", ...as(a) });
    expect([answer.status, answer.headers["content-type"]]).toEqual([422, "application/problem+json; charset=utf-8"]);
    expect([answer.headers["x-intended"], isAsked]).toEqual([undefined, false]);
  });

  it("are one for each transaction(), and one for the whole life with db; all of this tenant and READ ONLY", async () => {
    for (const tenant of [a, b]) {
      const app = await serveTenants(
        server,
        streaming(async function* ({ db, transaction, tenant: streamed }) {
          const began = async (own: typeof db) => (await own.execute<{ began: string }>(backend)).rows[0]!.began;
          const life = [await began(db), await began(db)];
          const reads = [await transaction(began), await transaction(began)];
          const refused = await transaction((own) => own.insert(notes).values({ body: "no" })).catch(
            (error: unknown) => error,
          );
          const seen = await db.execute<{ id: string }>(sql`select rowhouse.current_tenant() as id`);
          yield JSON.stringify({
            life: new Set(life).size,
            reads: new Set([...reads, ...life]).size,
            refused: (refused as { code: string }).code,
            tenants: [streamed.id, seen.rows[0]!.id],
          });
        }),
      );
      expect(JSON.parse((await app.fetch("/", as(tenant))).body)).toEqual({
        life: 1,
        reads: 3,
        refused: "ERR_READ_ONLY_TRANSACTION",
        tenants: [tenant.id, tenant.id],
      });
      expect(await openTransactions()).toBe(0);
    }
  });

  it("are opened by withTenant() below it too, not joined to the request's", async () => {
    const app = await serveTenants(server, (app, parts) =>
      app.get("/", (request, response) => {
        const source: Source = async function* () {
          const rows = await parts.withTenant(a.id, (db) => db.execute<{ n: number }>(sql`select 1 as n`));
          yield JSON.stringify(rows.rows);
        };
        return sendStream(request, response, stream(source, { type: "text/plain" }), parts);
      }),
    );
    expect((await app.fetch("/", as(a))).body).toBe('[{"n":1}]');
  });
});

describe("a slow client", () => {
  it("makes the source wait", async () => {
    let pieces = 0;
    const app = await serveTenants(
      server,
      streaming(async function* () {
        for (; pieces < 10_000; pieces += 1) yield Buffer.alloc(64 * 1024);
      }),
    );
    const socket = app.dial(get(a));
    socket.pause();
    let before = -1;
    await expect.poll(() => [pieces > 0 && pieces === before, (before = pieces)][0], { interval: 200 }).toBe(true);
    expect(pieces).toBeLessThan(1_000);
    socket.destroy();
  });
});

describe("a server that shuts down", () => {
  /** Waits, between two pieces, for what never comes or for the signal. */
  const waiting = async function* ({ db, signal }: StreamInput) {
    await db.select().from(notes);
    yield "first";
    await once(signal, "abort");
    yield "never sent";
  };

  it("ends events whole, with their transactions, whatever their source waits for", async () => {
    let parts: Parts | undefined;
    const app = await serveTenants(server, (app, its) => {
      parts = its;
      streaming(waiting, { type: "text/event-stream" })(app, its);
    });
    const socket = app.dial(get(a));
    const sent = readAll(socket, "\r\n0\r\n\r\n");
    await expect.poll(openTransactions).toBe(1);
    parts?.shutdown.abort();
    expect(await sent).toMatch(/first(?![\s\S]*never sent)/);
    await expect.poll(openTransactions).toBe(0);
  });

  it("lets a download go on", async () => {
    let parts: Parts | undefined;
    const goOn = gate();
    const app = await serveTenants(server, (app, its) => {
      parts = its;
      const source: Source = async function* () {
        yield "first";
        await goOn.promise;
        yield "last";
      };
      streaming(source)(app, its);
    });
    const socket = app.dial(get(a));
    await once(socket, "data");
    parts?.shutdown.abort();
    goOn.open();
    expect(await readAll(socket, "\r\n0\r\n")).toContain("last");
  });
});

describe("a client that hangs up", () => {
  it("ends the stream and its transactions, even while the source waits for something else", async () => {
    const waiting = gate();
    const forever = gate();
    const signals: boolean[] = [];
    const late = gate<unknown>();
    let returned = false;
    const ended = gate();
    const app = await serveTenants(server, (app, parts) =>
      app.get("/", async (request, response) => {
        const source: Source = async function* ({ db, signal }) {
          try {
            await db.select().from(notes);
            yield "first";
            waiting.open();
            await forever.promise;
            signals.push(signal.aborted);
            await db.select().from(notes).catch(late.open);
            yield "never read";
            yield "never asked for";
          } finally {
            returned = true;
          }
        };
        await sendStream(request, response, stream(source, { type: "text/plain" }), parts);
        ended.open();
      }),
    );
    const socket = app.dial(get(a));
    await waiting.promise;
    expect(await openTransactions()).toBe(1);
    socket.destroy();
    await ended.promise;
    await expect.poll(openTransactions).toBe(0);

    forever.open();
    expect(await late.promise).toMatchObject({ code: "ERR_TRANSACTION_CLOSED" });
    await expect.poll(() => returned).toBe(true);
    expect(signals).toEqual([true]);
  });

  it("gives a source that goes on nothing to go on with", async () => {
    const waiting = gate();
    const goOn = gate();
    const ended = gate();
    const refused = gate<unknown[]>();
    const app = await serveTenants(
      server,
      streaming(async function* (input) {
        input.signal.addEventListener("abort", () => ended.open());
        yield "first";
        waiting.open();
        await goOn.promise;
        const read = () => input.transaction((db) => db.select().from(notes));
        const errors = [input.db.select().from(notes).execute(), read()].map((query) =>
          query.catch((error: unknown) => error),
        );
        refused.open(await Promise.all(errors));
      }),
    );
    const socket = app.dial(get(a));
    await waiting.promise;
    socket.destroy();
    await ended.promise;
    goOn.open();
    expect(await refused.promise).toEqual([
      expect.objectContaining({ code: "ERR_TRANSACTION_CLOSED" }),
      new Error("The client hung up."),
    ]);
    expect(await openTransactions()).toBe(0);
  });

  it("ends a read that is under way", async () => {
    const reading = gate();
    const forever = gate();
    const app = await serveTenants(
      server,
      streaming(async function* ({ transaction }) {
        yield "first";
        yield await transaction(async (db) => {
          await db.select().from(notes);
          reading.open();
          await forever.promise;
          return "never";
        });
      }),
    );
    const socket = app.dial(get(a));
    await reading.promise;
    expect(await openTransactions()).toBe(1);
    socket.destroy();
    await expect.poll(openTransactions).toBe(0);
  });

  it("while the client is slow: the source returns", async () => {
    const returned = gate();
    const app = await serveTenants(
      server,
      streaming(async function* () {
        try {
          for (;;) yield Buffer.alloc(1024 * 1024);
        } finally {
          returned.open();
        }
      }),
    );
    const socket = app.dial(get(a));
    await once(socket, "data");
    socket.pause();
    socket.destroy();
    await returned.promise;
  });

  it("before the stream has begun: the source is not asked", async () => {
    let isAsked = false;
    const arrived = gate();
    const goOn = gate();
    const ended = gate();
    const app = await serveTenants(server, (app, parts) =>
      app.get("/", async (request, response) => {
        arrived.open();
        await goOn.promise;
        const source: Source = async function* () {
          isAsked = true;
          yield "never";
        };
        await sendStream(request, response, stream(source, { type: "text/plain" }), parts);
        ended.open();
      }),
    );
    const socket = app.dial(get(a));
    await arrived.promise;
    socket.destroy();
    await expect.poll(() => app.logs.some((line) => String(line["msg"]).startsWith("The client hung up"))).toBe(true);
    goOn.open();
    await ended.promise;
    expect(isAsked).toBe(false);
  });
});

describe("a source that fails", () => {
  it("before its first piece is answered with a problem", async () => {
    const app = await serveTenants(
      server,
      streaming(
        async function* ({ db }) {
          await db.execute(sql`select 1 / 0`);
          yield "never";
        },
        { type: "text/csv" },
      ),
    );
    const answer = await app.fetch("/", as(a));
    expect([answer.status, answer.headers["content-type"]]).toEqual([422, "application/problem+json; charset=utf-8"]);
    expect(await openTransactions()).toBe(0);
  });

  it("half way cuts the connection, ends its transactions and is logged", async () => {
    const app = await serveTenants(
      server,
      streaming(async function* ({ db }) {
        await db.select().from(notes);
        yield "half";
        throw new Error("the source broke");
      }),
    );
    await expect(app.fetch("/", as(a))).rejects.toMatchObject({ code: "ECONNRESET" });
    await expect.poll(() => JSON.stringify(app.logs)).toContain("the source broke");
    expect(await openTransactions()).toBe(0);
  });

  it("cuts it as well when its transaction cannot be committed", async () => {
    const app = await serveTenants(
      server,
      streaming(async function* ({ db }) {
        await db.execute(sql`select 1 / 0`).catch(() => {});
        yield "whole, but read from a transaction that failed";
      }),
    );
    await expect(app.fetch("/", as(a))).rejects.toMatchObject({ code: "ECONNRESET" });
  });
});

it("a stream's request holds no transaction while it runs", async () => {
  const app = await serveTenants(server, (app, parts) =>
    app.get("/", async (request, response) => {
      await parts.db().select().from(notes);
      const source: Source = async function* () {
        yield JSON.stringify({
          transaction: parts.context.current().transaction ?? null,
          open: await openTransactions(),
        });
      };
      await sendStream(request, response, stream(source, { type: "text/plain" }), parts);
      expect(scopeOf(request).queryCount).toBe(1);
    }),
  );
  expect((await app.fetch("/", as(a))).body).toBe('{"transaction":null,"open":0}');
});
