import { once } from "node:events";
import type { Request, Response } from "express";
import type { TenantDb, TenantTransaction } from "../database/types.ts";
import type { Tenant } from "../tenancy/tenant.ts";
import type { WithTenant } from "../tenancy/with-tenant.ts";
import { commitAnswer } from "./held-response.ts";
import type { RequestScope } from "./request-scope.ts";
import { scopeOf } from "./tenant.ts";

type Chunk = string | Uint8Array;

/** What the source of a stream may use. */
export interface StreamInput {
  readonly tenant: Tenant;
  /** One READ ONLY transaction for the stream's whole life: it begins with the first query, and ends with the stream. */
  readonly db: TenantDb;
  /** A READ ONLY transaction of its own for each read, so that none is held while the stream waits. */
  readonly transaction: <Result>(work: (db: TenantDb) => Promise<Result>) => Promise<Result>;
  /** Aborts when the client hangs up. */
  readonly signal: AbortSignal;
}

export type StreamSource = (input: StreamInput) => AsyncIterable<Chunk>;

export interface StreamOptions {
  /** The media type: `text/csv`, `text/event-stream`. */
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A handler's result that is sent piece by piece. Made by {@link stream}. */
export interface StreamResult extends StreamOptions {
  readonly [STREAM]: StreamSource;
}

const STREAM = Symbol("rowhouse.stream");

/**
 * An answer that is sent piece by piece: server-sent events, large downloads. The request's own transaction is committed
 * before the source is asked for anything, so the source reads through transactions of its own. It waits while the client
 * is slow. When the client hangs up, the source's transactions are rolled back and it is asked to return. If it throws
 * before its first piece, the error is answered; later the connection is cut, so that nobody takes a part for the whole.
 * When the server shuts down, a download is finished; events (`text/event-stream`), which have no end, are ended as if the
 * client had hung up, and their listeners connect again.
 */
export function stream(source: StreamSource, options: StreamOptions): StreamResult {
  return { ...options, [STREAM]: source };
}

export function isStream(value: unknown): value is StreamResult {
  return typeof value === "object" && value !== null && STREAM in value;
}

export interface StreamDeps {
  readonly withTenant: WithTenant;
  /** Aborts when the server begins to shut down. */
  readonly stopping: AbortSignal;
}

/**
 * Sends a stream. Resolves when it has ended, or the client has hung up.
 * @throws what COMMIT threw, and what the source threw while the client was still there
 */
export async function sendStream(
  request: Request,
  response: Response,
  result: StreamResult,
  { withTenant, stopping }: StreamDeps,
): Promise<void> {
  const scope = scopeOf(request);
  await commitAnswer(response);
  scope.holdNone();
  if (request.method === "HEAD") {
    writeHead(response, result);
    response.end();
    return;
  }
  const hangUp = new AbortController();
  const { signal } = hangUp;
  const abort = () => hangUp.abort();
  response.once("close", abort);
  if (isEvents(result)) stopping.addEventListener("abort", abort, { signal });
  if (response.destroyed) return;
  const { input, end } = createInput(scope, withTenant, signal);
  // Taken at once, whatever the source is waiting for.
  signal.addEventListener("abort", () => void end("rollback"));
  try {
    await pump(response, result, input);
    await end("commit");
    response.end();
  } catch (error) {
    if (signal.aborted) {
      if (!response.destroyed) response.end();
      return;
    }
    await end("rollback");
    if (response.headersSent) response.destroy();
    throw error;
  }
}

const isEvents = ({ type }: StreamOptions): boolean => type.startsWith("text/event-stream");

/** The source's means, and the hand to end the transaction that it may have opened. */
function createInput(scope: RequestScope, withTenant: WithTenant, signal: AbortSignal) {
  let lifelong: TenantTransaction | undefined;
  let isOver = false;
  const input: StreamInput = {
    tenant: scope.tenant,
    signal,
    get db() {
      lifelong ??= scope.open({ readOnly: true });
      // Nobody would end it any more.
      if (isOver) void lifelong.rollback();
      return lifelong.db;
    },
    transaction: (work) => withTenant(scope.tenant.id, (db) => untilHangUp(signal, () => work(db)), { readOnly: true }),
  };
  const end = async (how: "commit" | "rollback") => {
    isOver = true;
    await lifelong?.[how]();
  };
  return { input, end };
}

async function pump(response: Response, result: StreamResult, input: StreamInput): Promise<void> {
  const { signal } = input;
  // A listener of events is told at once that it is connected; whoever downloads can still be told that it failed.
  if (isEvents(result)) writeHead(response, result);
  const source = result[STREAM](input)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilHangUp(signal, () => source.next());
      if (!response.headersSent) writeHead(response, result);
      if (next.done) return;
      if (!response.write(next.value)) await once(response, "drain", { signal });
    }
  } catch (error) {
    // Not awaited: a source that waits for something else than the client hears of it only then.
    void Promise.resolve(source.return?.()).catch(() => {});
    throw error;
  }
}

function writeHead(response: Response, { type, headers = {} }: StreamOptions): void {
  response.setHeader("Content-Type", type);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.flushHeaders();
}

/** What `work` gives, or a rejection as soon as the client hangs up, whatever it waits for. */
function untilHangUp<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const hungUp = () => reject(new Error("The client hung up.", { cause: signal.reason }));
    if (signal.aborted) return hungUp();
    signal.addEventListener("abort", hungUp);
    // Removed each time: a race against one lasting promise would keep every piece of a long stream in memory.
    void work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", hungUp));
  });
}
