import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import express, { type ErrorRequestHandler, type RequestHandler, type Response } from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { abandonAnswer, commitAnswer } from "../../src/http/held-response.ts";
import { type Answered, gate, readAll, serveHeld } from "./held-server.ts";

let folder: string;
let smallFile: string;
let largeFile: string;
const LARGE = 3 * 1024 * 1024;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "held-"));
  smallFile = path.join(folder, "small.txt");
  largeFile = path.join(folder, "large.txt");
  await writeFile(smallFile, "a small file");
  await writeFile(largeFile, "x".repeat(LARGE));
});

afterAll(() => rm(folder, { recursive: true }));

const get = (line: string) => `GET ${line} HTTP/1.1\r\nHost: test\r\n\r\n`;

/** Problem details as the framework's error handler writes them: in place of whatever was intended. */
const problem: ErrorRequestHandler = (error, _request, response, _next) => {
  if (abandonAnswer(response)) response.status(500).json({ problem: (error as Error).message });
};

/** Without what Node decides by whether the whole body was known when the head was written. */
function comparable({ status, headers, body }: Answered): object {
  const { date: _date, connection: _connection, ...rest } = headers;
  delete rest["content-length"];
  delete rest["transfer-encoding"];
  return { status, headers: rest, body };
}

const forms: Record<string, RequestHandler> = {
  json: (_request, response) => void response.status(201).json({ ok: true }),
  send: (_request, response) => void response.send("<p>text</p>"),
  "send of bytes": (_request, response) => void response.send(Buffer.from([1, 2, 200])),
  sendStatus: (_request, response) => void response.sendStatus(202),
  "sendFile of a small file": (_request, response) => response.sendFile(smallFile),
  "sendFile of a large file": (_request, response) => response.sendFile(largeFile),
  download: (_request, response) => response.download(smallFile, "other.txt"),
  redirect: (_request, response) => response.redirect("/elsewhere"),
  "bare end": (_request, response) => void response.end(),
  "write and end": (_request, response) => {
    response.write("one ");
    response.write("7477 6f20".replace(" ", ""), "hex");
    response.end("three");
  },
  "write that waits for each callback": async (_request, response) => {
    for (const word of ["one ", "two "]) {
      const chunk = Buffer.from(word);
      await new Promise((resolve) => response.write(chunk, resolve));
      chunk.fill("-");
    }
    response.end();
  },
  pipe: (_request, response) => void Readable.from(["a", "b", "c"]).pipe(response),
  "pipe of a large body": (_request, response) => void largeBody().pipe(response),
  "a pipeline": (_request, response) => pipeline(largeBody(), response),
  "writes that wait for drain": async (_request, response) => {
    for (let index = 0; index < 48; index += 1) {
      if (!response.write("y".repeat(64 * 1024))) await once(response, "drain");
    }
    response.end();
  },
  writeHead: (_request, response) => {
    response.setHeader("x-kept", "1");
    response.writeHead(203, "As told", { "x-early": "2" }).end("body");
  },
  "writeHead with flat headers": (_request, response) => {
    response.writeHead(200, ["x-one", "1", "x-two", "2"]).end("body");
  },
  "flushHeaders and a later body": (_request, response) => {
    response.flushHeaders();
    setImmediate(() => response.end("later"));
  },
  cookies: (_request, response) => void response.cookie("a", "1").cookie("b", "2").send("set"),
  "no content": (_request, response) => void response.status(204).json({ dropped: true }),
  "a 304 by etag": (request, response) => {
    request.headers["if-none-match"] = '"v1"';
    response.set("ETag", '"v1"').json({ dropped: true });
  },
  "a mounted application": (request, response, next) => {
    const inner = express();
    inner.get("/form", (_request, reply) => void reply.json({ inner: true }));
    inner(request, response, next);
  },
};

function largeBody(): Readable {
  return Readable.from(
    (function* () {
      for (let index = 0; index < 48; index += 1) yield Buffer.alloc(64 * 1024, index);
    })(),
  );
}

describe("an answer below 400", () => {
  for (const [name, handler] of Object.entries(forms)) {
    for (const method of ["GET", "HEAD"]) {
      it(`leaves only after COMMIT, as it would have without a hold: ${name}, ${method}`, async () => {
        const held = await serveHeld((app) => app.get("/form", handler));
        const plain = await serveHeld((app) => app.get("/form", handler), { isHeld: false });

        const answer = await held.fetch("/form", { method });

        expect(comparable(answer)).toEqual(comparable(await plain.fetch("/form", { method })));
        expect(held.calls).toEqual(["commit"]);
        expect(held.bytesAtCommit).toEqual([0]);
      });
    }
  }

  it("keeps trailers", async () => {
    const held = await serveHeld((app) =>
      app.get("/", (_request, response) => {
        response.writeHead(200, { trailer: "x-sum" });
        response.write("body");
        response.addTrailers({ "x-sum": "42" });
        response.end();
      }),
    );
    const text = await readAll(held.dial(get("/")), "x-sum: 42");
    expect(text).toContain("4\r\nbody\r\n0\r\nx-sum: 42\r\n\r\n");
  });

  it("calls the callback of end() when the bytes have left", async () => {
    const called = gate<boolean>();
    const commit = gate();
    let isCommitted = false;
    const held = await serveHeld(
      (app) => app.get("/", (_request, response) => void response.end("x", () => called.open(isCommitted))),
      { commit: () => commit.promise },
    );
    const answer = held.fetch("/");
    await expect.poll(() => held.calls).toEqual(["commit"]);
    isCommitted = true;
    commit.open();
    expect(await called.promise).toBe(true);
    expect((await answer).body).toBe("x");
  });

  it("says while held what is on the wire and what was intended", async () => {
    const commit = gate();
    const seen: unknown[] = [];
    const look = (response: Response) => seen.push([response.headersSent, response.writableEnded, response.statusCode]);
    const held = await serveHeld(
      (app) =>
        app.get("/", (_request, response) => {
          response.status(202).write("a");
          look(response);
          response.end("b");
          response.statusCode = 500;
          look(response);
          response.on("finish", () => look(response));
        }),
      { commit: () => commit.promise },
    );
    const answer = held.fetch("/");
    await expect.poll(() => held.calls).toEqual(["commit"]);
    commit.open();
    expect((await answer).status).toBe(202);
    expect(seen).toEqual([
      [false, false, 202],
      [false, true, 202],
      [true, true, 202],
    ]);
  });

  it("refuses at once what node:http could not send", async () => {
    const held = await serveHeld((app) => {
      app.get("/status", (_request, response) => {
        response.statusCode = 42;
        response.end();
      });
      app.get("/head", (_request, response) => void response.writeHead(1000).end());
      app.get("/message", (_request, response) => {
        response.statusMessage = "two\r\nlines";
        response.end();
      });
      app.get("/chunk", (_request, response) => void response.end(42 as never));
      app.use(((error: Error & { code: string }, _request, response, _next) => {
        if (abandonAnswer(response)) response.status(500).send(error.code);
      }) as ErrorRequestHandler);
    });
    expect((await held.fetch("/status")).body).toBe("ERR_HTTP_INVALID_STATUS_CODE");
    expect((await held.fetch("/head")).body).toBe("ERR_HTTP_INVALID_STATUS_CODE");
    expect((await held.fetch("/message")).body).toBe("ERR_INVALID_CHAR");
    expect((await held.fetch("/chunk")).body).toBe("ERR_INVALID_ARG_TYPE");
    expect(held.calls).not.toContain("commit");
  });
});

describe("a refusal", () => {
  it("is answered after ROLLBACK when its status is 400 or above", async () => {
    const rollback = gate();
    const held = await serveHeld(
      (app) => app.get("/", (_request, response) => void response.status(409).json({ no: true })),
      { rollback: () => rollback.promise },
    );
    const answer = held.fetch("/");
    await expect.poll(() => held.calls).toEqual(["rollback"]);
    rollback.open();
    expect(await answer).toMatchObject({ status: 409, body: '{"no":true}' });
  });

  it("is express's own 404 or 500 where nothing else answers", async () => {
    const held = await serveHeld((app) =>
      app.get("/throws", () => {
        throw new Error("thrown");
      }),
    );
    expect((await held.fetch("/missing")).status).toBe(404);
    expect((await held.fetch("/throws")).status).toBe(500);
    expect(held.calls).toEqual(["rollback", "rollback"]);
  });

  it("replaces a body that was begun, and its headers", async () => {
    const held = await serveHeld(
      (app) => {
        app.get("/write", (_request, response) => {
          response.set("Content-Disposition", "attachment").set("Content-Length", "5000").write("half");
          throw new Error("broke off");
        });
        app.get("/head", (_request, response) => {
          response.writeHead(200, "Fine", { "Set-Cookie": "session=1", "x-before": "changed" });
          throw new Error("broke off");
        });
      },
      { before: (_request, response, next) => (response.set("x-before", "kept"), next()) },
    );
    for (const route of ["/write", "/head"]) {
      const answer = await held.fetch(route);
      expect(answer.status).toBe(500);
      expect(answer.body).toContain("broke off");
      expect(answer.body).not.toContain("half");
      expect(answer.headers["content-disposition"]).toBeUndefined();
      expect(answer.headers["set-cookie"]).toBeUndefined();
      expect(answer.headers["x-before"]).toBe("kept");
    }
    expect(held.calls).toEqual(["rollback", "rollback"]);
  });

  it("stands in for a file that cannot be read to its end", async () => {
    const held = await serveHeld(
      (app) =>
        app.get("/", (_request, response, next) => {
          const source = new PassThrough();
          source.on("error", next);
          source.pipe(response);
          source.write("the first part");
          setImmediate(() => source.destroy(new Error("disk failure")));
        }),
      { onError: problem },
    );
    expect(await held.fetch("/")).toMatchObject({ status: 500, body: '{"problem":"disk failure"}' });
    expect(held.calls).toEqual(["rollback"]);
  });

  it("rolls back although the error's answer is a redirect, when the error was handed over", async () => {
    const held = await serveHeld(
      (app) =>
        app.get("/", () => {
          throw new Error("thrown");
        }),
      {
        onError: (_error, _request, response, _next) => {
          if (abandonAnswer(response)) response.redirect("/sorry");
        },
      },
    );
    expect((await held.fetch("/")).status).toBe(302);
    expect(held.calls).toEqual(["rollback"]);
  });
});

describe("a COMMIT that fails", () => {
  const failing = () => Promise.reject(new Error("COMMIT failed"));

  it("takes every header of the intended answer with it, and keeps those from before", async () => {
    const held = await serveHeld(
      (app) =>
        app.post("/", (_request, response) => {
          response.set("X-Safe", "changed").removeHeader("x-removed");
          response.status(201).statusMessage = "Made it";
          response.cookie("session", "1").location("/orders/1").set("ETag", '"1"').json({ id: 1 });
        }),
      {
        commit: failing,
        before(_request, response, next) {
          response.set({ "X-Safe": "yes", "X-Removed": "no", "X-Request-Id": "r1" });
          next();
        },
      },
    );
    const answer = await held.fetch("/", { method: "POST" });
    expect(answer).toMatchObject({ status: 503, body: "COMMIT failed" });
    expect(Object.keys(answer.headers).toSorted()).toEqual([
      ...["connection", "content-length", "content-type", "date", "etag"],
      ...["x-powered-by", "x-removed", "x-request-id", "x-safe"],
    ]);
    expect(answer.headers["x-safe"]).toBe("yes");
    expect(answer.headers.etag).not.toBe('"1"');
    expect(held.calls).toEqual(["commit", "fail", "rollback"]);
  });

  for (const [name, handler] of Object.entries(forms)) {
    it(`answers with the problem only: ${name}`, async () => {
      const held = await serveHeld((app) => app.get("/form", handler), { commit: failing });
      expect(await held.fetch("/form")).toMatchObject({ status: 503, body: "COMMIT failed" });
      expect(held.calls).toEqual(["commit", "fail", "rollback"]);
    });
  }

  it("is not asked for again by an error handler that answers below 400", async () => {
    const held = await serveHeld((app) => app.get("/", (_request, response) => void response.json({})), {
      commit: failing,
      fail: (_error, response) => response.redirect("/sorry"),
    });
    expect((await held.fetch("/")).status).toBe(302);
    expect(held.calls).toEqual(["commit", "fail", "rollback"]);
  });

  it("cuts the connection when not even the problem can be written", async () => {
    const held = await serveHeld((app) => app.get("/", (_request, response) => void response.json({})), {
      commit: failing,
      fail() {
        throw new Error("no problem today");
      },
    });
    await expect(held.fetch("/")).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(held.logs).toEqual(["The problem could not be answered."]);
  });
});

describe("after the answer", () => {
  it("ignores a second end(), write, status and header, and answers its callbacks", async () => {
    const results: unknown[] = [];
    const commit = gate();
    const held = await serveHeld(
      (app) =>
        app.get("/", (_request, response) => {
          response.json({ first: true });
          response.status(500).json({ second: true });
          response.set("x-late", "1").removeHeader("content-type");
          response.writeHead(404, { "x-late": "1" });
          response.write("more", (error) => results.push(error));
          response.end("more", (error?: unknown) => results.push(error));
          response.end(() => results.push("finished"));
        }),
      { commit: () => commit.promise },
    );
    const answer = held.fetch("/");
    await expect.poll(() => results.length).toBe(2);
    commit.open();
    const { status, headers, body } = await answer;
    expect([status, body]).toEqual([200, '{"first":true}']);
    expect(headers["x-late"]).toBeUndefined();
    expect(headers["content-type"]).toContain("json");
    expect(results).toEqual([
      expect.objectContaining({ code: "ERR_STREAM_WRITE_AFTER_END", message: "write after end" }),
      expect.objectContaining({ code: "ERR_STREAM_WRITE_AFTER_END", message: "write after end" }),
      "finished",
    ]);
    expect(held.calls).toEqual(["commit"]);
    expect(held.logs[0]).toBe("A response was written to after its end, most likely answered twice: ignored.");
  });

  it("ignores them as well once the answer has left", async () => {
    const results = gate<unknown[]>();
    const held = await serveHeld((app) =>
      app.get("/", (_request, response) => {
        response.end("first");
        response.on("finish", () => {
          const seen: unknown[] = [];
          const note = (error?: unknown) => void seen.push((error as { code: string }).code);
          response.end(note);
          response.end("again", note);
          response.write("again", (error) => {
            note(error);
            results.open(seen);
          });
        });
      }),
    );
    expect((await held.fetch("/")).body).toBe("first");
    expect(await results.promise).toEqual([
      "ERR_STREAM_ALREADY_FINISHED",
      "ERR_STREAM_WRITE_AFTER_END",
      "ERR_STREAM_WRITE_AFTER_END",
    ]);
  });

  for (const [name, onError] of Object.entries({ "the framework's handler": problem, "express's own": undefined })) {
    it(`lets the answer stand when the handler throws afterwards: ${name}`, async () => {
      const commit = gate();
      const held = await serveHeld(
        (app) =>
          app.get("/", (_request, response) => {
            response.json({ done: true });
            throw new Error("too late");
          }),
        { commit: () => commit.promise, ...(onError && { onError }) },
      );
      const answer = held.fetch("/");
      await expect.poll(() => held.calls).toEqual(["commit"]);
      setImmediate(commit.open);
      expect(await answer).toMatchObject({ status: 200, body: '{"done":true}' });
      expect(held.calls).toEqual(["commit"]);
    });
  }

  it("keeps the connection alive for the next request", async () => {
    const held = await serveHeld((app) => app.get("/:n", (request, response) => void response.send(request.params.n)));
    const socket = held.dial(get("/first"));
    await once(socket, "data");
    socket.write(get("/second"));
    expect(await readAll(socket, "second")).toContain("200 OK");
  });
});

describe("an answer larger than what is held", () => {
  it("cuts the connection when the handler throws after the early COMMIT", async () => {
    for (const onError of [problem, undefined]) {
      const held = await serveHeld(
        (app) =>
          app.get("/", async (_request, response) => {
            response.write("x".repeat(2 * 1024 * 1024));
            await once(response, "drain");
            throw new Error("half way");
          }),
        onError && { onError },
      );
      await expect(held.fetch("/")).rejects.toMatchObject({ code: "ECONNRESET" });
      expect(held.calls).toEqual(["commit"]);
    }
  });

  it("cuts the connection when the handler throws while the early COMMIT is under way", async () => {
    for (const onError of [problem, undefined]) {
      const commit = gate();
      const held = await serveHeld(
        (app) =>
          app.get("/", (_request, response) => {
            response.write("x".repeat(2 * 1024 * 1024));
            response.once("close", commit.open);
            throw new Error("half way");
          }),
        { commit: () => commit.promise, ...(onError && { onError }) },
      );
      await expect(held.fetch("/")).rejects.toMatchObject({ code: "ECONNRESET" });
      expect(held.calls).toEqual(["commit"]);
    }
  });

  it("asks the source to wait while COMMIT is under way, and takes what comes nevertheless", async () => {
    const commit = gate();
    const accepted: boolean[] = [];
    const held = await serveHeld(
      (app) =>
        app.get("/", (_request, response) => {
          accepted.push(response.write("a".repeat(1024 * 1024)), response.write("b"), response.write("c"));
          response.end("d");
        }),
      { commit: () => commit.promise },
    );
    const answer = held.fetch("/");
    await expect.poll(() => held.calls).toEqual(["commit"]);
    commit.open();
    expect((await answer).body.replace(/^a+/, "")).toBe("bcd");
    expect(accepted).toEqual([true, false, false]);
    expect(held.calls).toEqual(["commit"]);
  });

  it("rolls back and streams on when its status is 400 or above", async () => {
    const held = await serveHeld((app) =>
      app.get("/", (_request, response) => void largeBody().pipe(response.status(500))),
    );
    const answer = await held.fetch("/");
    expect([answer.status, answer.body.length]).toEqual([500, LARGE]);
    expect(held.calls).toEqual(["rollback"]);
  });
});

describe("a client that hangs up", () => {
  it("before the answer: ROLLBACK, and COMMIT is never sent", async () => {
    const arrived = gate();
    const goOn = gate();
    const held = await serveHeld((app) =>
      app.get("/", async (_request, response) => {
        arrived.open();
        await goOn.promise;
        response.json({ nobody: "reads this" });
      }),
    );
    const socket = held.dial(get("/"));
    await arrived.promise;
    socket.destroy();
    await expect.poll(() => held.calls).toEqual(["rollback"]);
    goOn.open();
    await expect.poll(() => held.logs).toEqual(["The client hung up before COMMIT: rolled back."]);
    expect(held.calls).toEqual(["rollback"]);
  });

  it("in the middle of a body that is held: ROLLBACK, and the source is let go", async () => {
    const source = new PassThrough();
    const held = await serveHeld((app) =>
      app.get("/", (_request, response) => {
        source.pipe(response);
        source.write("part");
      }),
    );
    const socket = held.dial(get("/"));
    await once(source, "data");
    socket.destroy();
    await expect.poll(() => source.readableFlowing).toBe(false);
    expect(held.calls).toEqual(["rollback"]);
  });

  it("while COMMIT is under way: what COMMIT says stands", async () => {
    const commits = { succeeds: gate(), fails: gate() };
    const closed = { succeeds: gate(), fails: gate() };
    const held = await serveHeld(
      (app) =>
        app.get("/:how", (request, response) => {
          response.on("close", closed[request.params.how as keyof typeof closed].open);
          response.json({});
        }),
      { commit: (response) => commits[response.req.params["how"] as keyof typeof commits].promise },
    );
    for (const how of ["succeeds", "fails"] as const) {
      const socket = held.dial(get(`/${how}`));
      await expect.poll(() => held.calls).toHaveLength(how === "succeeds" ? 1 : 2);
      socket.destroy();
      await closed[how].promise;
    }
    commits.succeeds.open();
    commits.fails.fail(new Error("COMMIT failed"));
    await expect.poll(() => held.logs).toEqual(["COMMIT failed, and the client had hung up meanwhile."]);
    expect(held.calls).toEqual(["commit", "commit"]);
  });

  it("while its pipelined answer waits for its turn: ROLLBACK", async () => {
    const handlers = { "/1": gate<Response>(), "/2": gate<Response>() };
    const held = await serveHeld((app) =>
      app.use((request, response) => handlers[request.path as keyof typeof handlers].open(response)),
    );
    const socket = held.dial(get("/1") + get("/2"));
    const [first, second] = [await handlers["/1"].promise, await handlers["/2"].promise];
    socket.destroy();
    await once(first, "close");
    second.json({ nobody: "reads this" });
    await expect.poll(() => held.calls).toEqual(["rollback", "rollback"]);
  });

  it("in the middle of a body that is on its way: the source is let go", async () => {
    const source = largeBody();
    const held = await serveHeld((app) => app.get("/", (_request, response) => void source.pipe(response)));
    const socket = held.dial(get("/"));
    await once(socket, "data");
    socket.destroy();
    await expect.poll(() => source.readableFlowing).toBe(false);
    expect(held.calls).toEqual(["commit"]);
  });
});

describe("HTTP/1.1", () => {
  it("answers pipelined requests in their order, although the second commits first", async () => {
    const first = gate();
    const held = await serveHeld(
      (app) => app.get("/:n", (request, response) => void response.send(`<${request.path}>`)),
      {
        commit: (response) => (response.req.path === "/1" ? first.promise : Promise.resolve(first.open())),
      },
    );
    const text = await readAll(held.dial(get("/1") + get("/2")), "</2>");
    expect(text.indexOf("</1>")).toBeGreaterThan(0);
    expect(text.indexOf("</2>")).toBeGreaterThan(text.indexOf("</1>"));
  });

  it("lets 100 Continue through", async () => {
    const held = await serveHeld((app) =>
      app.post("/", express.text(), (request, response) => void response.send(`got ${request.body as string}`)),
    );
    const socket = held.dial(
      "POST / HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
    );
    const [head] = (await once(socket, "data")) as [Buffer];
    expect(head.toString()).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    expect(held.calls).toEqual([]);
    socket.write("body");
    expect(await readAll(socket, "got body")).toContain("200 OK");
  });
});

describe("commitAnswer", () => {
  it("commits first and lets everything after it through", async () => {
    const held = await serveHeld((app) =>
      app.get("/", async (_request, response) => {
        response.set("x-kind", "stream");
        await commitAnswer(response);
        response.flushHeaders();
        response.write("now");
      }),
    );
    const text = await readAll(held.dial(get("/")), "now");
    expect(text).toContain("x-kind: stream");
    expect(held.calls).toEqual(["commit"]);
  });

  it("throws what COMMIT threw, and the error is answered", async () => {
    const held = await serveHeld(
      (app) =>
        app.get("/", async (_request, response) => {
          response.set("x-kind", "stream");
          await commitAnswer(response);
          response.write("never");
        }),
      { commit: () => Promise.reject(new Error("COMMIT failed")), onError: problem },
    );
    const answer = await held.fetch("/");
    expect(answer).toMatchObject({ status: 500, body: '{"problem":"COMMIT failed"}' });
    expect(answer.headers["x-kind"]).toBeUndefined();
    expect(held.calls).toEqual(["commit", "rollback"]);
  });
});
