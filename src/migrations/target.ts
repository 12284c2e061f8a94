import { roleName, tenantRoleName, tenantSchema, withRolePrefix } from "../database/role-names.ts";
import { MIGRATION_SEARCH_PATH } from "./ddl-session.ts";
import { rewriteStatement } from "./rewrite/rewrite-statement.ts";
import type { Statement } from "./split-statements.ts";

/** A place that migrations apply to: the shared schema, or a tenant's own. */
export interface Target {
  /** What the ledger calls it: `shared`, or the schema's name. */
  readonly name: string;
  readonly searchPath: string;
  /**
   * A migration's statement as it runs here, or undefined when it has nothing to do here.
   * @throws MigrationInvalid when it cannot be rewritten faithfully
   */
  statementText(migrationId: string, statement: Statement): Promise<string | undefined>;
}

export function sharedTarget(rolePrefix: string): Target {
  return {
    name: "shared",
    searchPath: MIGRATION_SEARCH_PATH,
    statementText: (_id, { text }) => Promise.resolve(withRolePrefix(text, rolePrefix)),
  };
}

/** @param tenantId the UUID of the tenant whose schema it is */
export function dedicatedTarget(rolePrefix: string, tenantId: string): Target {
  const schema = tenantSchema(tenantId);
  const names = { schema, role: tenantRoleName(rolePrefix, tenantId), appRole: roleName(rolePrefix, "app") };
  return {
    name: schema,
    searchPath: `${schema}, extensions, pg_temp`,
    statementText: (id, { text, line }) =>
      rewriteStatement(id, { text: withRolePrefix(text, rolePrefix), line }, names),
  };
}
