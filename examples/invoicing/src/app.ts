import { fileURLToPath } from "node:url";
import {
  apiKey,
  createTokenVerifier,
  jwtClaim,
  type Feature,
  type MigrationFolder,
  type TenantResolver,
} from "rowhouse";
import { customersFeature } from "./customers.ts";
import { invoicesFeature } from "./invoices.ts";
import { ordersFeature } from "./orders.ts";

/** In the order in which they are seeded: orders need customers, invoices need orders. */
export const features: readonly Feature[] = [customersFeature, ordersFeature, invoicesFeature];

export const migrations: readonly MigrationFolder[] = [
  { source: "invoicing", path: fileURLToPath(new URL("../migrations", import.meta.url)) },
];

/** Who the tenant is: a token's claim, or an API key. */
export function resolvers(tokens: { secret: string; issuer: string; audience: string }): TenantResolver[] {
  return [jwtClaim({ verifier: createTokenVerifier(tokens) }), apiKey()];
}
