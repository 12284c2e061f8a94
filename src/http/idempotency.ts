import { createHash } from "node:crypto";
import type { OutgoingHttpHeaders } from "node:http";
import { sql } from "drizzle-orm";
import type { Request, RequestHandler, Response } from "express";
import type { TenantDb } from "../database/types.ts";
import { IdempotencyInFlight, IdempotencyKeyReused, RequestInvalid } from "../errors.ts";
import type { Answer } from "./held-answer.ts";
import { scopeOf } from "./tenant.ts";

/** Visible ASCII, so that it survives every proxy; bounded, because it is stored. */
const KEY = /^[\x21-\x7e]{1,255}$/;

interface Claim {
  readonly outcome: "new" | "replay" | "reused" | "in flight";
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/**
 * `Idempotency-Key` on POST (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/): a request that is
 * sent again with the same key gets the first one's answer, and is not done twice. The answer is stored in the request's
 * own transaction and kept for 24 hours; one that was not committed is not kept, so a failed request may be repeated.
 * Errors go to the next error handler: RequestInvalid for a malformed key, IdempotencyKeyReused, IdempotencyInFlight.
 */
export function idempotency(): RequestHandler {
  return async function idempotency(request, response, next) {
    const key = request.headers["idempotency-key"];
    if (request.method !== "POST" || key === undefined) return next();
    if (typeof key !== "string" || !KEY.test(key)) {
      throw new RequestInvalid("The Idempotency-Key must be 1 to 255 visible ASCII characters.", {
        problems: [{ path: "headers.idempotency-key", message: "must be 1 to 255 visible ASCII characters" }],
      });
    }
    const scope = scopeOf(request);
    const { db } = scope.begin({ readOnly: false });
    const hash = hashOf(request, scope.principal?.id);
    const claim = await claimKey(db, key, hash);
    switch (claim.outcome) {
      case "in flight":
        throw new IdempotencyInFlight("A request with this Idempotency-Key is being answered. Repeat it shortly.");
      case "reused":
        throw new IdempotencyKeyReused(
          "This Idempotency-Key was used for another request. Take a new key for each request that is not a repetition.",
        );
      case "replay":
        replay(response, claim);
        return;
      case "new":
        scope.beforeCommit((answer) => storeAnswer(db, key, hash, answer()));
        next();
    }
  };
}

/** What makes two requests the same: who asks for what, to the byte. */
function hashOf(request: Request & { rawBody?: Buffer }, principalId: string | undefined): Buffer {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([request.method, request.originalUrl, principalId ?? null]));
  hash.update(request.rawBody ?? "");
  return hash.digest();
}

async function claimKey(db: TenantDb, key: string, hash: Buffer): Promise<Claim> {
  const { rows } = await db.execute(sql`select * from rowhouse.claim_idempotency_key(${key}, ${hash})`);
  return rows[0] as unknown as Claim;
}

async function storeAnswer(db: TenantDb, key: string, hash: Buffer, { status, headers, body }: Answer): Promise<void> {
  // A stream, or an answer beyond what is held: its bytes are not all known, so it cannot be given again.
  if (body === undefined) return;
  await db.execute(
    sql`select rowhouse.store_idempotent_answer(${key}, ${hash}, ${status}, ${JSON.stringify(headers)}::jsonb, ${body})`,
  );
}

function replay(response: Response, { status, headers, body }: Claim): void {
  response.status(status);
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
  response.setHeader("Idempotency-Replayed", "true");
  response.end(body);
}
