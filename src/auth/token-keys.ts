import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from "jose";
import { ConfigInvalid, KeysUnavailable } from "../errors.ts";

/** The signature algorithms that take a shared secret, with the bytes their hash yields. */
const SECRET_ALGORITHMS = { HS256: 32, HS384: 48, HS512: 64 } as const;

/** The signature algorithms that take a key pair, of which the key server publishes the public half. */
const KEY_PAIR_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

export type SecretAlgorithm = keyof typeof SECRET_ALGORITHMS;
export type KeyPairAlgorithm = (typeof KEY_PAIR_ALGORITHMS)[number];

/** How long fetched keys are used: a key that the server has withdrawn is believed no longer than this. */
const KEYS_MAX_AGE_MS = 600_000;
/** The least time between two fetches that unknown key ids cause. */
const ROTATION_COOLDOWN_MS = 10_000;
/** How long a failed fetch answers for those that follow it. */
const FAILURE_PAUSE_MS = 1_000;
const FETCH_TIMEOUT_MS = 5_000;

/**
 * The bytes of a shared secret.
 *
 * @throws ConfigInvalid when it is shorter than the hash of one of the algorithms (RFC 7518, section 3.2)
 */
export function secretKey(secret: string, algorithms: readonly SecretAlgorithm[]): Uint8Array {
  const bytes = new TextEncoder().encode(secret);
  for (const algorithm of algorithms) {
    const needed = SECRET_ALGORITHMS[algorithm];
    if (bytes.length >= needed) continue;
    throw new ConfigInvalid(
      `The token secret has ${bytes.length} bytes and ${algorithm} needs at least ${needed} (RFC 7518, section 3.2). ` +
        "Make one with `openssl rand -base64 48`.",
    );
  }
  return bytes;
}

/**
 * Refuses an empty list, names that are not known (`none` among them), and a mix of secrets with key pairs: where a
 * public key may serve as a secret, whoever can read it can sign (RFC 8725, section 2.1).
 *
 * @throws ConfigInvalid
 */
export function assertAlgorithms(algorithms: readonly string[], source: "secret" | "jwksUrl"): void {
  const allowed: readonly string[] = source === "secret" ? Object.keys(SECRET_ALGORITHMS) : KEY_PAIR_ALGORITHMS;
  const wrong = algorithms.find((algorithm) => !allowed.includes(algorithm));
  if (wrong === undefined && algorithms.length > 0) return;
  const what =
    wrong === undefined ? "The list of algorithms is empty" : `Algorithm ${JSON.stringify(wrong)} is refused`;
  throw new ConfigInvalid(`${what}: with ${source} a token may be signed with ${allowed.join(", ")}.`);
}

/**
 * The keys of a JSON Web Key Set, fetched when first needed and kept for ten minutes. A token with an unknown key id
 * (a rotation) causes one more fetch, at most every ten seconds, so that made-up ids cannot flood the key server; nor can
 * anything when it is down: a failure answers for all that follow within a second.
 *
 * The returned function throws KeysUnavailable when keys are needed and the server gives none.
 *
 * @throws ConfigInvalid when `url` is not an http(s) URL
 */
export function remoteKeys(url: string): JWTVerifyGetKey {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new ConfigInvalid(`jwksUrl ${JSON.stringify(url)} is not an http(s) URL.`);
  }
  let failure: unknown;
  let pausedUntil = 0;
  const pausingFetch: FetchImplementation = (target, init) => {
    if (Date.now() < pausedUntil) throw failure;
    return fetch(target, init);
  };
  const keys = createRemoteJWKSet(parsed, {
    cacheMaxAge: KEYS_MAX_AGE_MS,
    cooldownDuration: ROTATION_COOLDOWN_MS,
    timeoutDuration: FETCH_TIMEOUT_MS,
    [customFetch]: pausingFetch,
  });
  return async function keyOf(header, token) {
    try {
      return await keys(header, token);
    } catch (error) {
      if (isTokensFault(error)) throw error;
      if (error !== failure) {
        failure = error;
        pausedUntil = Date.now() + FAILURE_PAUSE_MS;
      }
      throw new KeysUnavailable("The key server gives no usable keys, so no token can be checked now. Try again.", {
        cause: error,
      });
    }
  };
}

/** True when keys are at hand, and the token does not fit exactly one of them. */
function isTokensFault(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}
