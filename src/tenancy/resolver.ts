import type { Principal } from "../auth/principal.ts";

/** What a resolver may look at. It is not an express request: resolvers also serve jobs, tests and other servers. */
export interface ResolverRequest {
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The host name asked for, without port, lower case, as the trusted proxy configuration yields it. */
  readonly host: string;
}

/** Which tenant a request names, before it is looked up. */
export type TenantClaim =
  | { readonly by: "id"; readonly id: string }
  | { readonly by: "slug"; readonly slug: string }
  | { readonly by: "domain"; readonly domain: string };

/** What one source says of a request. */
export interface Resolution {
  readonly tenant?: TenantClaim;
  readonly principal?: Principal;
}

/**
 * One source of a request's tenant.
 * Returns undefined when the request carries nothing of its kind, so that the next resolver is asked; throws
 * Unauthenticated when it carries something of its kind that is not valid (never falls through to a weaker source).
 */
export interface TenantResolver {
  readonly name: string;
  resolve(request: ResolverRequest): Promise<Resolution | undefined>;
}
