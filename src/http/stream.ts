import { once } from "node:events";
import type { Request, Response } from "express";
import type { TenantDb } from "../database/types.ts";
import type { WithTenant } from "../tenancy/with-tenant.ts";
import { commitAnswer } from "./held-response.ts";
import { scopeOf } from "./tenant.ts";

type Chunk = string | Uint8Array;

/** What the source of a stream may use. */
export interface StreamInput {
  /** Opens a transaction of the tenant: one for each read, or one for the stream's whole life. */
  transaction<Result>(work: (db: TenantDb) => Promise<Result>): Promise<Result>;
  /** Aborts when the client hangs up. */
  readonly signal: AbortSignal;
}

export type StreamSource = (input: StreamInput) => AsyncIterable<Chunk>;

export interface StreamOptions {
  /** The media type: `text/event-stream`, `text/csv`. */
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
 * before the first byte, so the source opens its own, with `transaction()`. It waits while the client is slow, ends when
 * the client hangs up, and if it throws the connection is cut, so that nobody takes a part for the whole.
 */
export function stream(source: StreamSource, options: StreamOptions): StreamResult {
  return { ...options, [STREAM]: source };
}

export function isStream(value: unknown): value is StreamResult {
  return typeof value === "object" && value !== null && STREAM in value;
}

/** Sends a stream. Resolves when it has ended, whoever ended it. */
export async function sendStream(
  request: Request,
  response: Response,
  result: StreamResult,
  withTenant: WithTenant,
): Promise<void> {
  const scope = scopeOf(request);
  await commitAnswer(response);
  scope.holdNone();
  const hangUp = new AbortController();
  response.once("close", () => hangUp.abort());
  if (response.destroyed) return;

  response.setHeader("Content-Type", result.type);
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, value);
  response.flushHeaders();
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  const input: StreamInput = {
    transaction: (work) => withTenant(scope.tenant.id, work, { readOnly: true }),
    signal: hangUp.signal,
  };
  try {
    for await (const chunk of result[STREAM](input)) {
      if (hangUp.signal.aborted) return;
      if (!response.write(chunk)) await once(response, "drain", { signal: hangUp.signal });
    }
    response.end();
  } catch (error) {
    if (hangUp.signal.aborted) return;
    response.destroy();
    throw error;
  }
}
