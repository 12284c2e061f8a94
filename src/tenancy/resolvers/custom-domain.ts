import { isIP } from "node:net";
import type { TenantResolver } from "../resolver.ts";
import { labelsBelow, normalizeBaseDomain, normalizeHost } from "./host-name.ts";

export interface CustomDomainOptions {
  /** The service's own domains: these, and all below them, are no tenant's. */
  readonly baseDomains: readonly string[];
}

/**
 * The tenant that has proven to own the domain which is asked for. Any host that is not the service's own counts as a
 * custom domain, so a request at an unknown one is refused, whatever credentials it carries.
 *
 * @throws ConfigInvalid when a base domain is not one
 */
export function customDomain({ baseDomains }: CustomDomainOptions): TenantResolver {
  const bases = baseDomains.map(normalizeBaseDomain);
  return {
    name: "custom-domain",
    resolve(request) {
      const domain = normalizeHost(request.host);
      const isOurs = (host: string) => bases.some((base) => labelsBelow(host, base) !== undefined);
      // An address or a name without a dot is how probes and neighbours inside the network ask.
      const isCustom = domain !== undefined && domain.includes(".") && isIP(domain) === 0 && !isOurs(domain);
      return Promise.resolve(isCustom ? { tenant: { by: "domain", domain } } : undefined);
    },
  };
}
