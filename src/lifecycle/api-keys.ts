import { generateApiKey } from "../auth/api-key.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { DataInvalid, ResourceNotFound } from "../errors.ts";

export interface NewApiKeyOptions {
  /** What it is for: 1 to 200 characters. */
  readonly name: string;
  readonly scopes: readonly string[];
  /** Seconds from now, by the database's clock. @defaultValue it never expires */
  readonly expiresIn?: number | undefined;
}

/** An API key as operators see it; its secret is known to nobody but its holder. */
export interface ApiKeyRecord {
  readonly prefix: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

const COLUMNS =
  'prefix, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt", ' +
  'last_used_at as "lastUsedAt"';

/**
 * Makes an API key for a tenant.
 * @param owner a connection as the owner role
 * @returns the record and `key`, the text that the holder presents: it is stored nowhere and cannot be shown again
 * @throws DataInvalid when the name is empty or too long
 */
export async function createApiKey(
  owner: SqlConnection,
  tenantId: string,
  { name, scopes, expiresIn }: NewApiKeyOptions,
): Promise<ApiKeyRecord & { readonly key: string }> {
  if (name.length < 1 || name.length > 200) throw new DataInvalid("A key's name must have 1 to 200 characters.");
  const { key, prefix, secretHash } = generateApiKey();
  const { rows } = await owner.query<ApiKeyRecord>(
    `insert into rowhouse.api_keys (tenant_id, prefix, secret_hash, name, scopes, expires_at)
     values ($1, $2, $3, $4, $5, pg_catalog.now() + pg_catalog.make_interval(secs => $6)) returning ${COLUMNS}`,
    [tenantId, prefix, secretHash, name, scopes, expiresIn ?? null],
  );
  const [record] = rows;
  if (!record) throw new DataInvalid("The key was not stored.");
  return { ...record, key };
}

/** A tenant's keys, the newest first, revoked ones too. */
export async function listApiKeys(owner: SqlConnection, tenantId: string): Promise<ApiKeyRecord[]> {
  const { rows } = await owner.query<ApiKeyRecord>(
    `select ${COLUMNS} from rowhouse.api_keys where tenant_id = $1 order by created_at desc, prefix`,
    [tenantId],
  );
  return rows;
}

/**
 * Revokes a key: the next request that presents it is refused.
 * @param prefix the part between the first and the second "_"
 * @throws ResourceNotFound when there is no such key
 */
export async function revokeApiKey(owner: SqlConnection, prefix: string): Promise<ApiKeyRecord> {
  const { rows } = await owner.query<ApiKeyRecord>(
    `update rowhouse.api_keys set revoked_at = coalesce(revoked_at, pg_catalog.now()) where prefix = $1 returning ${COLUMNS}`,
    [prefix],
  );
  const [record] = rows;
  if (record) return record;
  // Not repeated: whoever pasted a whole key by mistake is not to find its secret in a log.
  if (prefix.includes("_")) {
    throw new ResourceNotFound('That is no prefix. It is the part of a key between the first and the second "_".');
  }
  throw new ResourceNotFound(
    `There is no API key with the prefix "${prefix}". \`rowhouse key list <tenant>\` shows them.`,
  );
}
