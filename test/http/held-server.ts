import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from "express";
import { onTestFinished } from "vitest";
import type { HoldHooks } from "../../src/http/held-answer.ts";
import { holdResponse } from "../../src/http/held-response.ts";

/** What a held response asked of its hooks, in order. */
interface Ledger {
  readonly calls: string[];
  readonly logs: string[];
  /** Bytes that the connection had sent when COMMIT was asked for. */
  readonly bytesAtCommit: number[];
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HeldServer extends Ledger {
  readonly port: number;
  fetch(path: string, options?: RequestOptions & { body?: string }): Promise<Answered>;
  /** A bare connection that has sent `text`. */
  dial(text: string): Socket;
}

interface HeldServerOptions {
  /** What COMMIT does. @defaultValue it succeeds at once */
  commit?: (response: Response) => Promise<void>;
  rollback?: (response: Response) => Promise<void>;
  /** @defaultValue answers the error's message with 503 */
  fail?: (error: unknown, response: Response) => void;
  /** False: the same app without the hold, as a control. */
  isHeld?: boolean;
  before?: RequestHandler;
  onError?: ErrorRequestHandler;
}

/** Serves routes below a held response, with a COMMIT that is played by the test. */
export async function serveHeld(routes: (app: Express) => void, options: HeldServerOptions = {}): Promise<HeldServer> {
  const ledger: Ledger = { calls: [], logs: [], bytesAtCommit: [] };
  const app = express();
  app.set("env", "test");
  if (options.before) app.use(options.before);
  if (options.isHeld ?? true) {
    app.use((_request, response, next) => {
      holdResponse(response, playedHooks(ledger, response, options));
      next();
    });
  }
  routes(app);
  if (options.onError) app.use(options.onError);
  return listen(app, ledger);
}

function playedHooks(ledger: Ledger, response: Response, options: HeldServerOptions): HoldHooks {
  const { socket } = response.req;
  const sentBefore = socket.bytesWritten;
  return {
    async commit() {
      ledger.calls.push("commit");
      ledger.bytesAtCommit.push(socket.bytesWritten - sentBefore);
      await options.commit?.(response);
    },
    async rollback() {
      ledger.calls.push("rollback");
      await options.rollback?.(response);
    },
    fail(error) {
      ledger.calls.push("fail");
      if (options.fail) return options.fail(error, response);
      response
        .status(503)
        .type("text")
        .send((error as Error).message);
    },
    log: (message) => void ledger.logs.push(message),
  };
}

/** Serves an app until the test has finished. */
export async function listen<Extra extends object>(app: Express, extra: Extra) {
  const server = createServer(app);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    ...extra,
    port,
    fetch: (path: string, requestOptions: RequestOptions & { body?: string } = {}) =>
      fetchFrom(port, path, requestOptions),
    dial(text: string) {
      const socket = connect(port, "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.write(text);
      return socket;
    },
  };
}

async function fetchFrom(port: number, path: string, { body, ...options }: RequestOptions & { body?: string }) {
  const request = httpRequest({ port, host: "127.0.0.1", path, agent: false, ...options });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("latin1")) text += chunk as string;
  return { status: response.statusCode!, headers: response.headers, body: text };
}

/** A promise and the hands to settle it. */
export function gate<Value = void>() {
  let open!: (value: Value) => void;
  let fail!: (error: Error) => void;
  const promise = new Promise<Value>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

/** Everything a connection sends until it ends, or until it holds `enough`. */
export async function readAll(socket: Socket, enough?: string): Promise<string> {
  let text = "";
  socket.setEncoding("latin1");
  await new Promise<void>((resolve) => {
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (enough !== undefined && text.includes(enough)) resolve();
    });
    socket.on("close", () => resolve());
    socket.on("error", () => resolve());
  });
  return text;
}
