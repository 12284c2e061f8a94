import { LRUCache } from "lru-cache";
import { findApiKey } from "../auth/find-api-key.ts";
import type { Database, LookupName } from "../database/types.ts";
import type { ResolverLookups, TenantClaim } from "./resolver.ts";
import { isDomain, isSlug, isUuid, requireActive, type Tenant } from "./tenant.ts";

export interface RegistryOptions {
  /** How long a found tenant is believed, in milliseconds. @defaultValue 30,000 */
  readonly ttl?: number;
  /** Found tenants kept at the most. @defaultValue 10,000 */
  readonly maxTenants?: number;
  /** How long a name without a tenant is believed to have none, in milliseconds. @defaultValue 10,000 */
  readonly unknownTtl?: number;
  /** Names without a tenant kept at the most, apart from the found ones: sprayed names push out only each other. @defaultValue 1,000 */
  readonly maxUnknown?: number;
}

/** Which tenants there are. */
export interface Registry extends ResolverLookups {
  /** Looks a tenant up, suspended ones too. @returns undefined when there is none, or the claim is malformed */
  find(claim: TenantClaim): Promise<Tenant | undefined>;
  /**
   * Looks an active tenant up.
   * @throws TenantNotFound
   * @throws TenantSuspended
   */
  tenant(claim: TenantClaim): Promise<Tenant>;
  /** Drops what this process remembers of the tenant, and every "there is none". Call it when a tenant has changed. */
  forget(tenantId: string): void;
}

interface Query {
  readonly key: string;
  readonly lookup: LookupName;
  readonly value: string;
}

/**
 * Finds tenants, and remembers for a short while what it found. A remembered tenant that was suspended or moved meanwhile
 * is refused by `rowhouse.enter()`, which reads the truth; so memory saves a query and decides nothing. A suspended tenant
 * is not remembered, so that it is back with the first request after it is resumed.
 */
export function createRegistry(database: Database, options: RegistryOptions = {}): Registry {
  const { ttl = 30_000, maxTenants = 10_000, unknownTtl = 10_000, maxUnknown = 1_000 } = options;
  const known = new LRUCache<string, Tenant>({ max: maxTenants, ttl });
  const unknown = new LRUCache<string, true>({ max: maxUnknown, ttl: unknownTtl });
  // Look-ups under way, so that requests which arrive together ask once.
  const pending = new Map<string, Promise<Tenant | undefined>>();
  // Raised by forget(): an answer from before it may be outdated and is not kept.
  let generation = 0;

  async function ask(query: Query): Promise<Tenant | undefined> {
    const startedIn = generation;
    const tenant = await database.lookup<Tenant>(query.lookup, [query.value]);
    if (startedIn !== generation) return tenant;
    if (tenant === undefined) unknown.set(query.key, true);
    else if (tenant.status === "active") known.set(query.key, Object.freeze(tenant));
    return tenant;
  }

  async function find(claim: TenantClaim): Promise<Tenant | undefined> {
    const query = toQuery(claim);
    if (query === undefined) return undefined;
    const { key } = query;
    const found = known.get(key) ?? pending.get(key);
    if (found !== undefined) return found;
    if (unknown.has(key)) return undefined;
    const asked = ask(query).finally(() => {
      if (pending.get(key) === asked) pending.delete(key);
    });
    pending.set(key, asked);
    return asked;
  }

  function forget(tenantId: string): void {
    generation += 1;
    pending.clear();
    unknown.clear();
    for (const [key, tenant] of [...known.entries()]) if (tenant.id === tenantId) known.delete(key);
  }

  database.whenStale(forget);

  return {
    find,
    tenant: async (claim) => requireActive(await find(claim)),
    apiKey: (presented) => findApiKey(database, presented),
    forget,
  };
}

/** @returns undefined for a malformed claim: there can be no such tenant, and nothing is sent to the database */
function toQuery(claim: TenantClaim): Query | undefined {
  switch (claim.by) {
    case "id": {
      if (!isUuid(claim.id)) return undefined;
      const id = claim.id.toLowerCase();
      return { key: `id:${id}`, lookup: "find_tenant_by_id", value: id };
    }
    case "slug":
      if (!isSlug(claim.slug)) return undefined;
      return { key: `slug:${claim.slug}`, lookup: "find_tenant_by_slug", value: claim.slug };
    case "domain":
      if (!isDomain(claim.domain)) return undefined;
      return { key: `domain:${claim.domain}`, lookup: "find_tenant_by_domain", value: claim.domain };
  }
}
