import type { TenantResolver } from "../resolver.ts";
import { labelsBelow, normalizeBaseDomain, normalizeHost } from "./host-name.ts";

export interface SubdomainOptions {
  /** `acme.example.com` is the tenant with the slug `acme` when this is `example.com`. */
  readonly baseDomain: string;
  /** Labels that are no tenant's. @defaultValue ["www", "api", "app"] */
  readonly reserved?: readonly string[];
}

/**
 * The tenant whose slug is the one label below the base domain. The host must come from a source that clients cannot
 * choose freely, or matter little: see the trust in `X-Forwarded-Host`.
 *
 * @throws ConfigInvalid when the base domain is not one
 */
export function subdomain({ baseDomain, reserved = ["www", "api", "app"] }: SubdomainOptions): TenantResolver {
  const base = normalizeBaseDomain(baseDomain);
  return {
    name: "subdomain",
    resolve(request) {
      const slug = labelsBelow(normalizeHost(request.host) ?? "", base);
      const isTenants = slug !== undefined && slug !== "" && !slug.includes(".") && !reserved.includes(slug);
      return Promise.resolve(isTenants ? { tenant: { by: "slug", slug } } : undefined);
    },
  };
}
