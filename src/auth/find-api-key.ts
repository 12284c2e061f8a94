import { timingSafeEqual } from "node:crypto";
import type { Database } from "../database/types.ts";
import type { ApiKey, PresentedApiKey } from "./api-key.ts";

interface ApiKeyRow {
  id: string;
  tenant_id: string;
  /** 32 bytes, by a constraint of the table. */
  secret_hash: Buffer;
  scopes: string[];
}

/**
 * Asks the database for a key, each time: what it revokes stops working with the next request, and its clock decides
 * what has expired.
 *
 * @returns undefined for a key that is unknown, expired, revoked, or has another secret: a caller cannot tell which
 * @throws DatabaseUnavailable, and what else a query can fail with
 */
export async function findApiKey(database: Database, presented: PresentedApiKey): Promise<ApiKey | undefined> {
  const row = await database.lookup<ApiKeyRow>("find_api_key", [presented.prefix]);
  if (row === undefined || !timingSafeEqual(row.secret_hash, presented.secretHash)) return undefined;
  return { id: row.id, tenantId: row.tenant_id, scopes: row.scopes };
}
