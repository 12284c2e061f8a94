import { ConfigInvalid } from "../errors.ts";

/** The database roles by what they do; DESIGN: roles belong to the server, so their names carry a prefix. */
export type RoleKind = "admin" | "owner" | "app" | "worker" | "queue" | "tenant";

// 24: the longest role name, `<prefix>_t_<tenant's UUID>`, has to stay within PostgreSQL's 63 bytes.
const PREFIX = /^[a-z][a-z0-9_]{0,23}$/;

/**
 * Checks a role prefix, so that what is built from it needs no quotes.
 * @throws ConfigInvalid
 */
function assertRolePrefix(prefix: string): void {
  if (PREFIX.test(prefix) && prefix !== "pg" && !prefix.startsWith("pg_")) return;
  throw new ConfigInvalid(
    `The role prefix ${JSON.stringify(prefix)} cannot be used. It must be 1 to 24 lower-case letters, digits or "_", ` +
      'begin with a letter, and not with "pg_", which PostgreSQL reserves. The default is "rowhouse".',
  );
}

/** The name of one of the framework's roles: `roleName("acme", "app")` is `acme_app`. */
export function roleName(prefix: string, kind: RoleKind): string {
  assertRolePrefix(prefix);
  return `${prefix}_${kind}`;
}

const hexOf = (tenantId: string): string => tenantId.toLowerCase().replaceAll("-", "");

/** The schema of a tenant that has one of its own, by its UUID: `t_` and 32 hex digits, which need no quotes. */
export const tenantSchema = (tenantId: string): string => `t_${hexOf(tenantId)}`;

/** The role that reaches that schema. `rowhouse.enter()` makes the same name. */
export function tenantRoleName(prefix: string, tenantId: string): string {
  assertRolePrefix(prefix);
  return `${prefix}_t_${hexOf(tenantId)}`;
}

/** Replaces the literal role names in SQL (`rowhouse_owner`, `rowhouse_app`, …) by those of this prefix. */
export function withRolePrefix(text: string, prefix: string): string {
  assertRolePrefix(prefix);
  return text.replace(/\browhouse_(admin|owner|app|worker|queue|tenant|t_[0-9a-f]{32})\b/g, `${prefix}_$1`);
}
