import type { Principal } from "../auth/principal.ts";
import { TenantNotFound, Unauthenticated } from "../errors.ts";
import type { Registry } from "./registry.ts";
import type { Resolution, ResolverRequest, TenantResolver } from "./resolver.ts";
import { requireActive, type Tenant } from "./tenant.ts";

interface ResolvedTenant {
  readonly tenant: Tenant;
  /** Undefined when only the host names the tenant: routes say whether that is enough. */
  readonly principal: Principal | undefined;
}

export type TenantResolution = (request: ResolverRequest) => Promise<ResolvedTenant>;

interface Found extends Resolution {
  readonly source: string;
}

/**
 * Makes the function that says whose request it is. Every resolver is asked, in order, and those that know the request
 * must agree: a token of one tenant at another tenant's host name is answered as if that tenant did not exist, also
 * when one of the two is suspended.
 *
 * The function throws
 * - Unauthenticated when a credential is not valid, when there are two, or when nothing names a tenant;
 * - TenantNotFound when the tenant is unknown, or the sources disagree (the `cause` says which, for the log);
 * - TenantSuspended; KeysUnavailable; and what a query can fail with.
 */
export function createTenantResolution(resolvers: readonly TenantResolver[], registry: Registry): TenantResolution {
  return async function resolveTenant(request) {
    const found: Found[] = [];
    for (const resolver of resolvers) {
      const resolution = await resolver.resolve(request, registry);
      if (resolution !== undefined) found.push({ source: resolver.name, ...resolution });
    }
    if (found.length === 0) {
      throw new Unauthenticated("The request names no tenant. Send credentials, or ask at a tenant's own host name.");
    }
    const principal = onlyPrincipal(found);
    const [only, ...others] = found as [Found, ...Found[]];
    const tenant = await (others.length > 0 ? agreedTenant(found, registry) : registry.tenant(only.tenant));
    return { tenant, principal };
  };
}

/** Two credentials would need a rule for whose scopes count; a client has no reason to send both. */
function onlyPrincipal(found: readonly Found[]): Principal | undefined {
  const [principal, other] = found.flatMap((resolution) => resolution.principal ?? []);
  if (other === undefined) return principal;
  throw new Unauthenticated("The request carries two credentials. Send one.");
}

async function agreedTenant(found: readonly Found[], registry: Registry): Promise<Tenant> {
  const tenants = await Promise.all(found.map((resolution) => registry.find(resolution.tenant)));
  const [first] = tenants;
  if (tenants.every((tenant) => tenant?.id === first?.id)) return requireActive(first);
  const says = found.map(({ source }, index) => `${source}: ${tenants[index]?.id ?? "unknown"}`);
  throw new TenantNotFound("There is no such tenant.", { cause: new Error(`Sources disagree: ${says.join(", ")}`) });
}
