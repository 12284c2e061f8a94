import type { Placement, TenantRef } from "../database/types.ts";
import { TenantNotFound, TenantSuspended } from "../errors.ts";

export type TenantStatus = "active" | "suspended";

/** A customer organisation. */
export interface Tenant extends TenantRef {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly status: TenantStatus;
  readonly placement: Placement;
  readonly epoch: number;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for the text form of a UUID (RFC 9562, section 4). */
export function isUuid(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const SLUG = new RegExp(`^${LABEL}$`);
const DOMAIN = new RegExp(`^(?=.{3,253}$)${LABEL}(?:\\.${LABEL})+$`);

/** True for what may be a tenant's slug: one label of a host name (RFC 1123, section 2.1), in lower case. */
export function isSlug(value: unknown): value is string {
  return typeof value === "string" && SLUG.test(value);
}

/** True for a host name of two labels or more, in lower case and in ASCII, without the root's dot. */
export function isDomain(value: unknown): value is string {
  return typeof value === "string" && DOMAIN.test(value);
}

/**
 * Lets an active tenant pass. The messages are those that `rowhouse.enter()` leads to, so that a client cannot tell who
 * refused it.
 *
 * @throws TenantNotFound for undefined
 * @throws TenantSuspended
 */
export function requireActive(tenant: Tenant | undefined): Tenant {
  if (tenant === undefined) throw new TenantNotFound("There is no such tenant.");
  if (tenant.status === "active") return tenant;
  throw new TenantSuspended("The tenant is suspended. An operator can resume it.");
}
