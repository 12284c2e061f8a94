import { serverErrorOf } from "../database/server-error.ts";
import type { Placement } from "../database/types.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { TenantInvalid, TenantNotFound, UniqueViolation } from "../errors.ts";
import { provisionSchema, type ProvisionOptions, removeSchema } from "./provision-schema.ts";
import { aloneWithTenant, TENANT_LOCK_WAIT } from "./tenant-lock.ts";
import { isSlug, isUuid, type Tenant, type TenantStatus } from "../tenancy/tenant.ts";

/** A tenant as operators see it. */
export interface TenantRecord extends Tenant {
  readonly createdAt: Date;
}

export interface NewTenant {
  /** 1 to 63 lower-case letters, digits and "-": it becomes a subdomain. */
  readonly slug: string;
  /** @defaultValue the slug */
  readonly name?: string | undefined;
}

const COLUMNS = 'id, slug, name, status, placement, epoch, created_at as "createdAt"';

/**
 * Makes a tenant.
 * @param owner a connection as the owner role
 * @throws TenantInvalid when the slug is malformed or taken
 */
export function createTenant(owner: SqlConnection, tenant: NewTenant): Promise<TenantRecord> {
  return insertTenant(owner, tenant, "shared");
}

/**
 * Makes a tenant that lives in a schema of its own.
 * @param owner a connection as the owner role
 * @throws TenantInvalid when the slug is malformed or taken
 * @throws what {@link provisionSchema} throws; there is no tenant then, and what was made for it is removed
 */
export async function createDedicatedTenant(
  owner: SqlConnection,
  tenant: NewTenant,
  options: ProvisionOptions,
): Promise<TenantRecord> {
  const { rows } = await owner.query<{ id: string }>("select rowhouse.uuid_v7() as id");
  const id = only(rows, tenant.slug).id;
  try {
    await provisionSchema(id, options);
    return await insertTenant(owner, tenant, "schema", id);
  } catch (error) {
    // The first failure tells more than that of the clearing up.
    await removeSchema(id, options).catch(() => {});
    throw error;
  }
}

async function insertTenant(
  owner: SqlConnection,
  { slug, name = slug }: NewTenant,
  placement: Placement,
  id?: string,
): Promise<TenantRecord> {
  if (!isSlug(slug)) {
    throw new TenantInvalid(
      `${JSON.stringify(slug)} cannot be a slug. Use 1 to 63 lower-case letters, digits and "-", not at the ends.`,
    );
  }
  try {
    const { rows } = await owner.query<TenantRecord>(
      `insert into rowhouse.tenants (id, slug, name, placement)
       values (coalesce($4, rowhouse.uuid_v7()), $1, $2, $3) returning ${COLUMNS}`,
      [slug, name, placement, id ?? null],
    );
    return only(rows, slug);
  } catch (error) {
    if (error instanceof UniqueViolation) {
      throw new TenantInvalid(`The slug "${slug}" is taken. Choose another one.`, { cause: error });
    }
    if (serverErrorOf(error)?.code === "23514") {
      throw new TenantInvalid("A tenant's name must have 1 to 200 characters.", { cause: error });
    }
    throw error;
  }
}

/** Every tenant, in the order of their slugs. @param owner a connection as the owner role */
export async function listTenants(owner: SqlConnection): Promise<TenantRecord[]> {
  const { rows } = await owner.query<TenantRecord>(`select ${COLUMNS} from rowhouse.tenants order by slug`);
  return rows;
}

/** @param slugOrId which tenant; @throws TenantNotFound */
export async function findTenant(owner: SqlConnection, slugOrId: string): Promise<TenantRecord> {
  const column = isUuid(slugOrId) ? "id" : "slug";
  const { rows } = await owner.query<TenantRecord>(`select ${COLUMNS} from rowhouse.tenants where ${column} = $1`, [
    slugOrId,
  ]);
  return only(rows, slugOrId);
}

/**
 * Suspends a tenant: once this returns, none of its transactions runs and none can begin.
 *
 * @param lockWait how long to wait for those that are running, in milliseconds; new ones wait behind it meanwhile
 * @throws TenantNotFound
 * @throws TenantBusy when a transaction of the tenant did not end in time; nothing has changed then
 */
export function suspendTenant(
  owner: SqlConnection,
  slugOrId: string,
  lockWait = TENANT_LOCK_WAIT,
): Promise<TenantRecord> {
  return setStatus(owner, slugOrId, "suspended", lockWait);
}

/** Opens the door to a suspended tenant again. @throws TenantNotFound, TenantBusy */
export function resumeTenant(owner: SqlConnection, slugOrId: string): Promise<TenantRecord> {
  return setStatus(owner, slugOrId, "active", TENANT_LOCK_WAIT);
}

async function setStatus(
  owner: SqlConnection,
  slugOrId: string,
  status: TenantStatus,
  lockWait: number,
): Promise<TenantRecord> {
  const { id } = await findTenant(owner, slugOrId);
  return aloneWithTenant(owner, id, lockWait, async () => {
    const { rows } = await owner.query<TenantRecord>(
      `update rowhouse.tenants set status = $2 where id = $1 returning ${COLUMNS}`,
      [id, status],
    );
    return only(rows, slugOrId);
  });
}

function only<Row>(rows: readonly Row[], slugOrId: string): Row {
  const [row] = rows;
  if (row) return row;
  throw new TenantNotFound(`There is no tenant "${slugOrId}". \`rowhouse tenant list\` shows them all.`);
}
