import { hash } from "node:crypto";
import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions } from "jose";
import { LRUCache } from "lru-cache";
import { ConfigInvalid, RowhouseError, Unauthenticated } from "../errors.ts";
import type { Principal } from "./principal.ts";
import { assertAlgorithms, remoteKeys, secretKey, type KeyPairAlgorithm, type SecretAlgorithm } from "./token-keys.ts";

interface TokenChecks {
  /** What `iss` must be. */
  readonly issuer: string;
  /** What `aud` must be, or contain. */
  readonly audience: string;
  /** How far the issuer's clock may be off, in seconds. @defaultValue 5 */
  readonly clockTolerance?: number;
}

interface SharedSecret {
  readonly secret: string;
  readonly jwksUrl?: undefined;
  /** @defaultValue ["HS256"] */
  readonly algorithms?: readonly SecretAlgorithm[];
}

interface RemoteKeys {
  /** Where the issuer publishes its JSON Web Key Set. Use https: who answers here decides who is let in. */
  readonly jwksUrl: string;
  readonly secret?: undefined;
  /** @defaultValue ["RS256", "PS256", "ES256", "EdDSA"] */
  readonly algorithms?: readonly KeyPairAlgorithm[];
}

export type TokenVerifierOptions = TokenChecks & (SharedSecret | RemoteKeys);

/** A token whose signature, issuer, audience and times were checked. Frozen: the same object serves later requests. */
export interface VerifiedToken {
  readonly principal: Principal;
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Checks one token (compact JWS, without "Bearer").
 * @throws Unauthenticated whatever is wrong with it; the message never repeats it
 * @throws KeysUnavailable when the key server does not answer
 */
export type TokenVerifier = (token: string) => Promise<VerifiedToken>;

/**
 * Checking a signature takes 60 (HS256) to 200 µs (ES256), looking a digest up 2 µs (test/auth/verify-token.bench.ts). So
 * verified tokens are remembered: not past `exp`, not longer than a minute (a withdrawn key must stop working), and only
 * these, so that what is not valid takes no place.
 */
const REMEMBERED = { max: 2_000, ttl: 60_000 };

/**
 * Makes the function that checks bearer tokens (RFC 7519), with a shared secret or with the keys an issuer publishes.
 * `iss`, `aud`, `exp` and `sub` are required; scopes come from `scope` (RFC 8693, section 4.2) or else `scp`.
 *
 * @throws ConfigInvalid when an option would accept tokens that prove nothing
 */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const checks = toChecks(options);
  const key = toKey(options);
  const { clockTolerance } = checks;
  const remembered = new LRUCache<string, { token: VerifiedToken; exp: number }>(REMEMBERED);

  return async function verifyToken(token) {
    const digest = hash("sha256", token, "base64");
    const known = remembered.get(digest);
    if (known !== undefined && Date.now() / 1000 < known.exp + clockTolerance) return known.token;
    const claims = await verifiedClaims(token, key, checks);
    const verified = Object.freeze({ principal: toPrincipal(claims), claims: Object.freeze(claims) });
    remembered.set(digest, { token: verified, exp: claims.exp ?? 0 });
    return verified;
  };
}

function toChecks(options: TokenVerifierOptions): JWTVerifyOptions & { clockTolerance: number } {
  const { issuer, audience, clockTolerance = 5 } = options;
  for (const [name, value] of Object.entries({ issuer, audience })) {
    if (typeof value === "string" && value !== "") continue;
    throw new ConfigInvalid(`${name} must be set: without it, tokens made for others would be accepted.`);
  }
  if (!(clockTolerance >= 0 && clockTolerance <= 300)) {
    throw new ConfigInvalid(`clockTolerance must be from 0 to 300 seconds, not ${clockTolerance}.`);
  }
  const algorithms = [...(options.algorithms ?? defaultAlgorithms(options))];
  assertAlgorithms(algorithms, options.secret === undefined ? "jwksUrl" : "secret");
  return { issuer, audience, algorithms, clockTolerance, requiredClaims: ["exp", "sub"] };
}

const defaultAlgorithms = (options: TokenVerifierOptions) =>
  options.secret === undefined ? (["RS256", "PS256", "ES256", "EdDSA"] as const) : (["HS256"] as const);

function toKey(options: TokenVerifierOptions): JWTVerifyGetKey {
  if (options.secret === undefined) return remoteKeys(options.jwksUrl);
  if (options.jwksUrl !== undefined) {
    throw new ConfigInvalid("secret and jwksUrl are two ways to verify a token. Set one of them.");
  }
  const bytes = secretKey(options.secret, options.algorithms ?? ["HS256"]);
  return () => bytes;
}

async function verifiedClaims(token: string, key: JWTVerifyGetKey, checks: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, key, checks).catch((error: unknown) => {
      if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithEach(error, token, checks);
      throw error;
    });
    return payload;
  } catch (error) {
    if (error instanceof RowhouseError) throw error;
    // jose's own errors are not kept as a cause: they carry the claims, and would be logged.
    if (error instanceof errors.JOSEError) throw new Unauthenticated(problemOf(error));
    throw new Unauthenticated("The token cannot be checked with the key that it names.", { cause: error });
  }
}

/** A token without a key id fits several keys of the set: one of them must have signed it. */
async function verifyWithEach(several: errors.JWKSMultipleMatchingKeys, token: string, checks: JWTVerifyOptions) {
  for await (const key of several) {
    try {
      return await jwtVerify(token, key, checks);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

function problemOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "The token has expired. Get a new one.";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.reason === "missing"
      ? `The token has no "${error.claim}" claim.`
      : `The token's "${error.claim}" claim is not acceptable here.`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return "The token is not signed with an algorithm that is accepted here.";
  }
  if (error instanceof errors.JWKSNoMatchingKey) return "The token is signed with a key that is not known here.";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature is not valid.";
  return "The token is not a valid JWT.";
}

function toPrincipal(claims: JWTPayload): Principal {
  const { sub } = claims;
  if (typeof sub !== "string" || sub === "")
    throw new Unauthenticated('The token\'s "sub" claim is not acceptable here.');
  return Object.freeze({ kind: "user", id: sub, scopes: Object.freeze(scopesOf(claims)) });
}

/** Scopes as a string with spaces, or a list of strings as some issuers send it. Anything else grants nothing. */
function scopesOf(claims: JWTPayload): string[] {
  const value = claims["scope"] ?? claims["scp"] ?? [];
  const list: unknown[] = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
  return list.filter((scope): scope is string => typeof scope === "string" && scope !== "");
}
