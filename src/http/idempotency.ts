import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { Principal } from "../auth/principal.ts";
import type { TenantDb } from "../database/types.ts";
import { IdempotencyInFlight, IdempotencyKeyReused, RequestInvalid } from "../errors.ts";
import type { Answer } from "./held-answer.ts";
import { scopeOf } from "./tenant.ts";

/** What `rowhouse.claim_idempotency_key()` says of a key. The last three are null unless the outcome is `replay`. */
interface Claim extends Record<string, unknown> {
  readonly outcome: "new" | "replay" | "reused" | "in flight";
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Null where the answer was too large to be kept. */
  readonly body: Buffer | null;
}

/** Visible ASCII: what a header carries unharmed, and an index can hold. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Lets a POST with an `Idempotency-Key` run only once (IETF draft-ietf-httpapi-idempotency-key-header): the answer is
 * stored in the request's own transaction, and a repetition gets it again, with `Idempotency-Replayed: true`. Refusals
 * (400 and above) are not stored, since nothing of them is: the next try runs. Keys belong to a tenant, for 24 hours.
 *
 * It belongs below the body parser and `tenant()`. Errors go to the next error handler:
 * - RequestInvalid for a malformed key, or a route that holds no transaction
 * - IdempotencyKeyReused when the key came with another request, or its answer was too large to be kept
 * - IdempotencyInFlight while the first request is under way
 */
export function idempotency(): RequestHandler {
  return function idempotency(request, response, next) {
    const key = request.method === "POST" ? request.headers["idempotency-key"] : undefined;
    return key === undefined ? next() : runOnce(key, request, response, next);
  };
}

async function runOnce(key: string | string[], request: Request, response: Response, next: NextFunction) {
  assertKey(key);
  const scope = scopeOf(request);
  const { db } = scope.begin({ readOnly: false });
  const hash = hashRequest(request, scope.principal);
  const claim = await claimKey(db, key, hash);
  switch (claim.outcome) {
    case "new":
      scope.beforeCommit((answer) => storeAnswer(db, key, hash, answer));
      return next();
    case "replay":
      return replay(response, claim);
    case "reused":
      throw new IdempotencyKeyReused("The Idempotency-Key was used for another request. Send a new key.");
    case "in flight":
      throw new IdempotencyInFlight("A request with this Idempotency-Key is under way. Repeat it in a moment.");
  }
}

function assertKey(key: string | string[]): asserts key is string {
  if (typeof key === "string" && KEY.test(key)) return;
  const message = "must be 1 to 255 visible ASCII characters";
  throw new RequestInvalid(`The Idempotency-Key ${message}, e.g. a UUID.`, {
    problems: [{ path: "headers.idempotency-key", message }],
  });
}

/** SHA-256 of what makes two requests the same: method, path with query, who calls, and the body's bytes. */
function hashRequest(request: Request, principal: Principal | undefined): Buffer {
  const head = JSON.stringify([request.method, request.originalUrl, principal?.kind, principal?.id]);
  return createHash("sha256").update(head).update("\n").update(bodyOf(request)).digest();
}

/** The body as it came where the parser keeps it (`jsonBody()` does); else what was parsed, in its order. */
function bodyOf(request: Request & { rawBody?: unknown }): string | Uint8Array {
  const body: unknown = request.rawBody ?? request.body;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  return JSON.stringify(body) ?? "";
}

async function claimKey(db: TenantDb, key: string, hash: Buffer): Promise<Claim> {
  const { rows } = await db.execute<Claim>(sql`select * from rowhouse.claim_idempotency_key(${key}, ${hash})`);
  return rows[0] as Claim;
}

function storeAnswer(db: TenantDb, key: string, hash: Buffer, { status, headers, body }: Answer) {
  const head = JSON.stringify(headers);
  // execute(): sent now, ahead of COMMIT; a builder that is awaited would send it too late.
  return db
    .execute(sql`select rowhouse.store_idempotent_answer(${key}, ${hash}, ${status}, ${head}, ${body ?? null})`)
    .execute();
}

function replay(response: Response, { status, headers, body }: Claim): void {
  if (body === null) {
    throw new IdempotencyKeyReused(
      "The request with this Idempotency-Key was carried out, but its answer was too large to be kept. Look at its result.",
    );
  }
  response.status(status);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("Idempotency-Replayed", "true");
  response.end(body);
}
