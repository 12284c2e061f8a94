import { API_KEY_MARK } from "../../auth/api-key.ts";
import type { TokenVerifier } from "../../auth/verify-token.ts";
import { Unauthenticated } from "../../errors.ts";
import type { TenantResolver } from "../resolver.ts";
import { bearerCredentials } from "./credentials.ts";

export interface JwtClaimOptions {
  readonly verifier: TokenVerifier;
  /** The claim that holds the tenant's UUID. @defaultValue "tenant_id" */
  readonly claim?: string;
}

/**
 * The tenant of a verified JWT in `Authorization: Bearer …`. A token without the claim is refused: it would be good for
 * any tenant.
 */
export function jwtClaim({ verifier, claim = "tenant_id" }: JwtClaimOptions): TenantResolver {
  return {
    name: "jwt-claim",
    async resolve(request) {
      const token = bearerCredentials(request);
      if (token === undefined || token.startsWith(API_KEY_MARK)) return undefined;
      const { principal, claims } = await verifier(token);
      const id = claims[claim];
      if (typeof id !== "string" || id === "") {
        throw new Unauthenticated(`The token names no tenant: its "${claim}" claim must be the tenant's id.`);
      }
      return { tenant: { by: "id", id }, principal };
    },
  };
}
