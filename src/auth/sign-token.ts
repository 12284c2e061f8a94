import { SignJWT } from "jose";
import { ConfigInvalid } from "../errors.ts";
import { secretKey } from "./token-keys.ts";

export interface SignTokenOptions {
  readonly secret: string;
  readonly issuer: string;
  readonly audience: string;
  /** Whose token it is: the `sub` claim. */
  readonly subject: string;
  /** The tenant's UUID: the `tenant_id` claim. */
  readonly tenantId: string;
  /** @defaultValue none */
  readonly scopes?: readonly string[];
  /** In seconds from now. */
  readonly expiresIn: number;
}

/**
 * Signs a bearer token with a shared secret (HS256), for development, tests and `rowhouse token`. In production tokens
 * come from an identity provider.
 *
 * @returns the token, without "Bearer"
 * @throws ConfigInvalid when the secret is too short, or `expiresIn` is not positive
 */
export async function signToken(options: SignTokenOptions): Promise<string> {
  const { secret, issuer, audience, subject, tenantId, scopes = [], expiresIn } = options;
  if (!(expiresIn > 0 && Number.isFinite(expiresIn))) {
    throw new ConfigInvalid(`expiresIn must be a positive number of seconds, not ${expiresIn}.`);
  }
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ tenant_id: tenantId, scope: scopes.join(" ") })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setIssuedAt(now)
    .setExpirationTime(now + Math.ceil(expiresIn))
    .sign(secretKey(secret, ["HS256"]));
}
