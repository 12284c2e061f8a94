import type { ApiKey, PresentedApiKey } from "../auth/api-key.ts";
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

/**
 * What one source says of a request. A principal never comes without its tenant: credentials that name none would be
 * good for every tenant whose host name they are sent to.
 */
export interface Resolution {
  readonly tenant: TenantClaim;
  readonly principal?: Principal;
}

/** What a resolver may ask before the tenant is known. */
export interface ResolverLookups {
  /** @returns undefined for a key that is unknown, expired, revoked, or has another secret */
  apiKey(presented: PresentedApiKey): Promise<ApiKey | undefined>;
}

/**
 * One source of a request's tenant.
 * Returns undefined when the request carries nothing of its kind, so that the next resolver is asked; throws
 * Unauthenticated when it carries something of its kind that is not valid (never falls through to a weaker source).
 */
export interface TenantResolver {
  /** For the log: which sources disagreed. */
  readonly name: string;
  resolve(request: ResolverRequest, lookups: ResolverLookups): Promise<Resolution | undefined>;
}
