import { withRolePrefix } from "../database/role-names.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { DefinitionInvalid, MigrationFailed } from "../errors.ts";
import { sql, type SqlPath } from "../generated/sql.ts";
import { DDL_LOCK_TIMEOUT, DDL_LOCK_TRIES, withLockRetries } from "./ddl-session.ts";

/** Schemas whose tables with a tenant_id column are tenant tables. */
const TENANT_SCHEMAS = ["public"];

interface InsecureTable {
  table: string;
  is_partition: boolean;
  is_beyond_repair: boolean;
  reasons: string[];
}

interface MissingGrant {
  name: string;
  remedy: string;
}

export interface SecureTablesOptions {
  readonly rolePrefix: string;
  /** @defaultValue 40 tries, each waiting a second for the table's lock */
  readonly lockTries?: number;
}

/**
 * Puts policies/tenant_table.sql on every table with a tenant_id column in the tenant schemas that does not have it
 * exactly, and gives the application its grants on global tables and on sequences of defaults. A table that is neither
 * stays without grants. Compares with the catalog before and after, so that nothing is locked when nothing is to do.
 *
 * @param connection connected as the owner role, outside any transaction
 * @returns qualified names of the tables that were secured, in order
 * @throws DefinitionInvalid when a table cannot be secured as it is
 * @throws MigrationFailed when it is not secure afterwards
 */
export async function secureTables(
  connection: SqlConnection,
  { rolePrefix, lockTries = DDL_LOCK_TRIES }: SecureTablesOptions,
): Promise<string[]> {
  const ask = <Row extends object>(path: SqlPath, values: unknown[] = [TENANT_SCHEMAS]) =>
    askCatalog<Row>(connection, withRolePrefix(sql[path], rolePrefix), values);

  await assertWellPlaced(ask);
  const tables = await ask<InsecureTable>("db/queries/insecure_tables.sql");
  assertRepairable(tables);
  const inTurn = [
    ...tables.map((table) => securingStatements(table, rolePrefix)),
    ...(await ask<MissingGrant>("db/queries/missing_grants.sql")).map((grant) => [grant.remedy]),
  ];
  for (const statements of inTurn) {
    await withLockRetries(lockTries, () => inTransaction(connection, statements));
  }
  await assertSecured(ask);
  return tables.map((table) => table.table);
}

type Ask = <Row extends object>(path: SqlPath, values?: unknown[]) => Promise<Row[]>;

/** The empty search_path makes PostgreSQL print expressions with every name qualified. */
async function askCatalog<Row extends object>(connection: SqlConnection, text: string, values: unknown[]) {
  await connection.query("begin read only; set local search_path = ''");
  try {
    return (await connection.query<Row>(text, values)).rows;
  } finally {
    await connection.query("rollback");
  }
}

async function assertWellPlaced(ask: Ask): Promise<void> {
  const misplaced = await ask<{ table: string }>("db/queries/misplaced_tables.sql", []);
  if (misplaced.length === 0) return;
  throw new DefinitionInvalid(
    `${misplaced.map((row) => row.table).join(", ")}: a table of schema global is read by every tenant, but this one has ` +
      "a tenant_id column. Declare it with tenantTable(), or drop the column.",
  );
}

function assertRepairable(tables: readonly InsecureTable[]): void {
  const beyond = tables.filter((table) => table.is_beyond_repair);
  if (beyond.length === 0) return;
  const list = beyond.map(
    ({ table, reasons }) => `${table}: ${reasons.filter((reason) => reason.startsWith("it")).join(", ")}`,
  );
  throw new DefinitionInvalid(
    `A table with a tenant_id column cannot be secured: ${list.join("; ")}. Give it to the owner role ` +
      "(alter table … owner to …), and tenant_id the type uuid.",
  );
}

function securingStatements(table: InsecureTable, rolePrefix: string): string[] {
  const statements = [sql["policies/tenant_table.sql"]];
  // A partition is reached through its parent only.
  if (table.is_partition) statements.push("revoke all on {{table}} from rowhouse_app");
  // The prefix first, since a table may be named like a role. A function as replacement: in a string "$&" and the like,
  // which a quoted name may contain, have a meaning.
  return statements.map((text) => withRolePrefix(text, rolePrefix).replaceAll("{{table}}", () => table.table));
}

/** Runs the statements in one transaction, with an empty search_path and a short wait for locks. */
export async function inTransaction(connection: SqlConnection, statements: readonly string[]): Promise<void> {
  await connection.query(`begin; set local search_path = ''; set local lock_timeout = ${DDL_LOCK_TIMEOUT}`);
  try {
    for (const statement of statements) await connection.query(statement);
    await connection.query("commit");
  } catch (error) {
    await connection.query("rollback").catch(() => {});
    throw error;
  }
}

async function assertSecured(ask: Ask): Promise<void> {
  const tables = await ask<InsecureTable>("db/queries/insecure_tables.sql");
  const grants = await ask<MissingGrant>("db/queries/missing_grants.sql");
  const left = [
    ...tables.map((table) => `${table.table}: ${table.reasons.join(", ")}`),
    ...grants.map((grant) => `${grant.name}: the grants are different`),
  ];
  if (left.length === 0) return;
  throw new MigrationFailed(
    `After securing them, tables are still not as they must be: ${left.join("; ")}. Something changes them back: look for ` +
      "an event trigger or another session, then run `rowhouse migrate` again.",
  );
}
