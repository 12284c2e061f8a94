import type { Placement, TenantRef } from "../database/types.ts";
import { IdInvalid } from "../errors.ts";

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

/**
 * Checks an id before it is sent to the database.
 * @throws IdInvalid
 */
export function assertUuid(value: unknown, what: string): asserts value is string {
  if (isUuid(value)) return;
  throw new IdInvalid(`${what} must be a UUID, got ${JSON.stringify(value)?.slice(0, 80) ?? typeof value}.`);
}
