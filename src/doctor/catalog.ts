import { withRolePrefix } from "../database/role-names.ts";
import { sql, type SqlPath } from "../generated/sql.ts";

/** What the doctor looks at. */
export interface CatalogOptions {
  /** What the role names begin with. @defaultValue "rowhouse" */
  readonly rolePrefix?: string;
  /** The schemas in which a table with a `tenant_id` is a tenant table. @defaultValue ["public"] */
  readonly tenantSchemas?: readonly string[];
}

type Names<Path> = Path extends `policies/lints/${infer Name}.sql` ? Name : never;

/** A rule's number and name, as in `0004_rls_disabled`. */
export type RuleName = Names<SqlPath>;

const LINTS = /^policies\/lints\/(.*)\.sql$/;

/** Every rule, in the order of the numbers. */
export const ruleNames: readonly RuleName[] = Object.keys(sql)
  .flatMap((path) => LINTS.exec(path)?.[1] ?? [])
  .sort() as RuleName[];

/** An embedded query with policies/catalog.sql in front of it; `select` is what is asked of its rows. */
function queryCatalog(path: SqlPath, select: string, options: CatalogOptions): { text: string; values: unknown[] } {
  const { rolePrefix = "rowhouse", tenantSchemas = ["public"] } = options;
  const text = `${sql["policies/catalog.sql"]}\n${select} from (\n${sql[path]}\n) as found`;
  return { text: withRolePrefix(text, rolePrefix), values: [tenantSchemas] };
}

/** The statement that runs a rule. What policies/catalog.sql excepts is left out. */
export function ruleQuery(rule: RuleName, options: CatalogOptions): { text: string; values: unknown[] } {
  const query = queryCatalog(`policies/lints/${rule}.sql`, "select found.*", options);
  return { ...query, text: `${query.text}\nwhere not exists (select from exceptions e where e.key = found.key)` };
}

/** The statement that lists the tenant tables, the framework's included. */
export function tenantTablesQuery(options: CatalogOptions): { text: string; values: unknown[] } {
  return queryCatalog("policies/tenant_tables.sql", "select found.*", options);
}

/** The statement that lists the tables of tenants' own schemas. */
export function dedicatedTablesQuery(options: CatalogOptions): { text: string; values: unknown[] } {
  return queryCatalog("policies/dedicated_tables.sql", "select found.*", options);
}
