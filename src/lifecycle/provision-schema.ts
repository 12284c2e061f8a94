import { tenantRoleName, tenantSchema, withRolePrefix } from "../database/role-names.ts";
import { serverErrorOf } from "../database/server-error.ts";
import { connectSql } from "../database/sql-connection.ts";
import { PermissionDenied } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { migrateTenantSchema } from "../migrations/migrate.ts";
import type { MigrationFolder } from "../migrations/migration-files.ts";

export interface ProvisionOptions {
  /** Connects as the administrator, who alone may make roles; it is used for nothing else. */
  readonly adminUrl: string;
  readonly ownerUrl: string;
  readonly rolePrefix: string;
  /** The application's migrations, as `migrate()` gets them. */
  readonly folders: readonly MigrationFolder[];
}

/**
 * Makes the role and the schema of a tenant and brings the schema to what the code expects. The tenant's rows are not
 * touched. It may be run again, and goes on where an earlier run was stopped.
 *
 * @param tenantId the tenant's UUID; the tenant need not exist yet
 * @throws PermissionDenied when the administrator may not make the role
 * @throws MigrationInvalid, MigrationFailed, MigrationLocked as `migrate()` does
 */
export async function provisionSchema(tenantId: string, options: ProvisionOptions): Promise<void> {
  await makeRole(tenantId, options);
  {
    await using owner = await connectSql(options.ownerUrl, "rowhouse provision");
    await owner.query(`create schema if not exists ${tenantSchema(tenantId)}`);
  }
  await migrateTenantSchema(tenantId, options);
}

async function makeRole(tenantId: string, { adminUrl, rolePrefix }: ProvisionOptions): Promise<void> {
  const role = tenantRoleName(rolePrefix, tenantId);
  await using admin = await connectSql(adminUrl, "rowhouse provision");
  try {
    await admin.query(withRolePrefix(sql["db/tenant_role.sql"], rolePrefix).replaceAll("{{role}}", role));
  } catch (error) {
    const server = serverErrorOf(error);
    if (server?.code !== "42501") throw error;
    throw new PermissionDenied(
      `ADMIN_DATABASE_URL's role may not make "${role}" and its memberships: ${server.message}. It needs CREATEROLE and ` +
        "ADMIN OPTION on the framework's roles, which the one has that ran `rowhouse init-database`.",
      { cause: error },
    );
  }
}

/** Removes what {@link provisionSchema} made: the schema with every row in it, and the role. */
export async function removeSchema(
  tenantId: string,
  { adminUrl, ownerUrl, rolePrefix }: Omit<ProvisionOptions, "folders">,
): Promise<void> {
  const schema = tenantSchema(tenantId);
  {
    await using owner = await connectSql(ownerUrl, "rowhouse provision");
    // One transaction: a ledger that speaks of a schema which is gone would have the next one left empty.
    await owner.query(
      `begin; drop schema if exists ${schema} cascade; delete from rowhouse.migrations where target = '${schema}'; commit`,
    );
  }
  await dropTenantRole(tenantId, { adminUrl, rolePrefix });
}

/** Removes the role of a tenant that has no schema any more. */
export async function dropTenantRole(
  tenantId: string,
  { adminUrl, rolePrefix }: Pick<ProvisionOptions, "adminUrl" | "rolePrefix">,
): Promise<void> {
  await using admin = await connectSql(adminUrl, "rowhouse provision");
  await admin.query(`drop role if exists ${tenantRoleName(rolePrefix, tenantId)}`);
}
