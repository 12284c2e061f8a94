import { API_KEY_MARK, parseApiKey } from "../../auth/api-key.ts";
import { Unauthenticated } from "../../errors.ts";
import type { ResolverRequest, TenantResolver } from "../resolver.ts";
import { bearerCredentials, singleHeader } from "./credentials.ts";

/** The tenant of an API key, sent as `Authorization: Bearer rh_…` or as `X-API-Key: rh_…`. */
export function apiKey(): TenantResolver {
  return {
    name: "api-key",
    async resolve(request, lookups) {
      const text = presentedKey(request);
      if (text === undefined) return undefined;
      const presented = parseApiKey(text);
      const key = presented && (await lookups.apiKey(presented));
      // One answer for all: what is wrong with a key is not for who does not hold it.
      if (key === undefined) throw new Unauthenticated("The API key is not valid: mistyped, expired or revoked.");
      return {
        tenant: { by: "id", id: key.tenantId },
        principal: { kind: "api-key", id: key.id, scopes: key.scopes },
      };
    },
  };
}

function presentedKey(request: ResolverRequest): string | undefined {
  const bearer = bearerCredentials(request);
  const header = singleHeader(request, "x-api-key");
  if (!bearer?.startsWith(API_KEY_MARK)) return header;
  if (header === undefined || header === bearer) return bearer;
  throw new Unauthenticated("The request carries two API keys. Send one.");
}
