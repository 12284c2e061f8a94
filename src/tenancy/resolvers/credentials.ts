import { Unauthenticated } from "../../errors.ts";
import type { ResolverRequest } from "../resolver.ts";

/**
 * The one value of a header.
 * @returns undefined when it is absent
 * @throws Unauthenticated when it was sent twice: two readers could each believe another one
 */
export function singleHeader(request: ResolverRequest, name: string): string | undefined {
  const value = request.headers[name];
  if (!Array.isArray(value)) return value;
  if (value.length <= 1) return value[0];
  throw new Unauthenticated(`The header ${name} was sent ${value.length} times. Send it once.`);
}

/**
 * The credentials of `Authorization: Bearer …` (RFC 6750, section 2.1; the scheme in any case, RFC 9110, section 11.1).
 *
 * @returns undefined when there is no such header, or it is of another scheme
 * @throws Unauthenticated when nothing follows the scheme, or more than one word
 */
export function bearerCredentials(request: ResolverRequest): string | undefined {
  const [scheme, ...words] = (singleHeader(request, "authorization") ?? "").trim().split(/ +/);
  if (scheme?.toLowerCase() !== "bearer") return undefined;
  const [credentials, ...rest] = words;
  if (credentials !== undefined && rest.length === 0) return credentials;
  throw new Unauthenticated("The Authorization header must read: Bearer, a space, and one token or API key.");
}
