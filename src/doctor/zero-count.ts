import { randomUUID } from "node:crypto";
import { type ServerError, serverErrorOf } from "../database/server-error.ts";
import { roleName } from "../database/role-names.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { ConfigInvalid, ConnectionLost } from "../errors.ts";
import { type CatalogOptions, dedicatedTablesQuery, tenantTablesQuery } from "./catalog.ts";

/**
 * What is known of one table:
 * `proven` the owner sees rows, the application without a tenant sees none and may insert none;
 * `unproven` nothing went wrong, but nothing is proven either;
 * `unreachable` the application may not select from it at all;
 * `failed` the application sees or inserts rows without a tenant, or its query ends in an error.
 */
export type TableVerdict = "proven" | "unproven" | "unreachable" | "failed";

export interface TableZeroCount {
  /** Qualified and quoted. */
  readonly table: string;
  readonly verdict: TableVerdict;
  /** Why, in words. */
  readonly reason: string;
  /** Rows that the owner sees, counted up to 1000; null where it could not count. */
  readonly ownerRows: number | null;
  /** Rows that the application sees without a tenant, counted up to 1000; null where it could not count. */
  readonly appRows: number | null;
}

export interface ZeroCountReport {
  /** `passed`: every table is proven or unreachable. `unproven`: not so, but none failed. */
  readonly verdict: "passed" | "unproven" | "failed";
  readonly database: string;
  /** The role whose rows were counted. */
  readonly role: string;
  readonly tables: readonly TableZeroCount[];
}

export interface ZeroCountOptions extends CatalogOptions {
  /** Connects as the app role. */
  readonly app: SqlConnection;
  /** Connects to the same database as the owner role. */
  readonly owner: SqlConnection;
}

// Where counting stops: one row is enough to tell.
const COUNT_LIMIT = 1000;

interface TenantTable {
  /** Qualified and quoted. */
  readonly label: string;
  /** Quoted. */
  readonly tenantColumn: string;
}

/**
 * Counts, as the app role and without a tenant, the rows of every tenant table in the catalog, and tries to insert one:
 * in the shared schema, the framework's, and tenants' own, which the app role does not reach at all.
 * Nothing is kept.
 *
 * @throws ConfigInvalid when `app` is not the app role, or the two connections lead to different databases
 */
export async function zeroCount(options: ZeroCountOptions): Promise<ZeroCountReport> {
  const { app, owner, rolePrefix = "rowhouse" } = options;
  const { database, role } = await assertConnections(app, owner, rolePrefix);
  const rows: TenantTable[] = [];
  for (const { text, values } of [tenantTablesQuery(options), dedicatedTablesQuery(options)]) {
    rows.push(...(await owner.query<TenantTable>(text, values)).rows);
  }
  // All tables once in a session that never had a tenant; then as in one that an earlier transaction left behind, when
  // the setting is '' and no longer null.
  const unset: Count[] = [];
  for (const table of rows) unset.push(await countAsApp(app, table, false));
  const tables: TableZeroCount[] = [];
  for (const [index, table] of rows.entries()) {
    const counts = [unset[index]!, await countAsApp(app, table, true)];
    tables.push(await checkTable(app, owner, table, worst(counts)));
  }
  return { verdict: overall(tables), database, role, tables };
}

function overall(tables: readonly TableZeroCount[]): ZeroCountReport["verdict"] {
  if (tables.some((table) => table.verdict === "failed")) return "failed";
  const isProven = tables.length > 0 && tables.every((table) => table.verdict !== "unproven");
  return isProven ? "passed" : "unproven";
}

interface Session {
  readonly role: string;
  readonly database: string;
  readonly startedAt: string;
}

async function assertConnections(app: SqlConnection, owner: SqlConnection, prefix: string): Promise<Session> {
  const session = async (connection: SqlConnection) => {
    const { rows } = await connection.query<Session>(
      "select current_user as role, pg_catalog.current_database() as database, " +
        `pg_catalog.pg_postmaster_start_time()::text as "startedAt"`,
    );
    return rows[0]!;
  };
  const [ofApp, ofOwner] = [await session(app), await session(owner)];
  const expected = roleName(prefix, "app");
  if (ofApp.role !== expected) {
    throw new ConfigInvalid(
      `Zero-count must connect as "${expected}", the role that serves requests, but is "${ofApp.role}". Correct ` +
        "DATABASE_URL, or ROWHOUSE_ROLE_PREFIX.",
    );
  }
  if (ofApp.database !== ofOwner.database || ofApp.startedAt !== ofOwner.startedAt) {
    throw new ConfigInvalid(
      `The application connects to database "${ofApp.database}" and the owner to "${ofOwner.database}" of another ` +
        "database or server: their counts cannot be compared. Correct DATABASE_URL or OWNER_DATABASE_URL.",
    );
  }
  return ofApp;
}

async function checkTable(
  app: SqlConnection,
  owner: SqlConnection,
  table: TenantTable,
  counted: Count,
): Promise<TableZeroCount> {
  const owned = await refusable(() => countRows(owner, table));
  const inserted = await insertAsApp(
    app,
    table,
    typeof owned === "number" ? await someTenant(owner, table) : randomUUID(),
  );
  const [verdict, reason] = judge(owned, counted, inserted);
  return { table: table.label, verdict, reason, ownerRows: numberOrNull(owned), appRows: numberOrNull(counted) };
}

function judge(owned: Count, counted: Count, inserted: Insertion): [TableVerdict, string] {
  if (inserted === "accepted") return ["failed", "a row was inserted without a tenant"];
  if (isDenied(counted)) return ["unreachable", "the application may not select from it"];
  if (typeof counted === "object") return ["failed", `the query ended in an error: ${counted.message}`];
  if (counted > 0) return ["failed", `the application sees ${quantity(counted)} without a tenant`];
  if (typeof owned === "object") return ["unproven", `the owner cannot count its rows: ${owned.message}`];
  if (owned === 0) return ["unproven", "the table is empty, which proves nothing"];
  if (!isDenied(inserted)) return ["unproven", `an insert was refused, but not by the wall: ${inserted.message}`];
  return ["proven", `the owner sees ${quantity(owned)}, the application none`];
}

const quantity = (rows: number) => `${rows} row${rows === 1 ? "" : "s"}${rows < COUNT_LIMIT ? "" : " or more"}`;

async function countRows(connection: SqlConnection, table: TenantTable): Promise<number> {
  const { rows } = await connection.query<{ count: number }>(
    `select pg_catalog.count(*)::integer as count from (select from ${table.label} limit ${COUNT_LIMIT}) as t`,
  );
  return rows[0]!.count;
}

type Count = number | ServerError;
type Insertion = "accepted" | ServerError;

const numberOrNull = (count: Count) => (typeof count === "number" ? count : null);

// 42501 is both a missing grant and a row that a policy refuses.
const isDenied = (answer: unknown): boolean =>
  typeof answer === "object" && answer !== null && "code" in answer && answer.code === "42501";

/** An error before a missing grant before a count. */
function worst(counts: readonly Count[]): Count {
  const errors = counts.filter((count) => typeof count === "object");
  const numbers = counts.filter((count) => typeof count === "number");
  return errors.find((error) => !isDenied(error)) ?? errors[0] ?? Math.max(...numbers);
}

/** @returns what `work` does, or the server's refusal; other errors are thrown */
async function refusable<Result>(work: () => Promise<Result>): Promise<Result | ServerError> {
  try {
    return await work();
  } catch (error) {
    const refusal = serverErrorOf(error);
    if (refusal === undefined || error instanceof ConnectionLost) throw error;
    return refusal;
  }
}

const countAsApp = (app: SqlConnection, table: TenantTable, isReused: boolean): Promise<Count> =>
  refusable(() =>
    rolledBack(app, async () => {
      if (isReused) await app.query("select pg_catalog.set_config('app.tenant_id', '', true)");
      return countRows(app, table);
    }),
  );

/** A tenant that has rows in the table, or one that does not exist. */
async function someTenant(owner: SqlConnection, table: TenantTable): Promise<string> {
  const { rows } = await owner.query<{ id: string }>(
    `select t.${table.tenantColumn}::text as id from ${table.label} t limit 1`,
  );
  return rows[0]?.id ?? randomUUID();
}

/** The wall speaks before NOT NULL, checks, keys and references do, so the other columns are left to their defaults. */
const insertAsApp = (app: SqlConnection, table: TenantTable, tenant: string): Promise<Insertion> =>
  refusable(async () => {
    await rolledBack(app, () => app.query(`insert into ${table.label} (${table.tenantColumn}) values ($1)`, [tenant]));
    return "accepted" as const;
  });

async function rolledBack<Result>(connection: SqlConnection, work: () => Promise<Result>): Promise<Result> {
  await connection.query("begin");
  try {
    return await work();
  } finally {
    await connection.query("rollback");
  }
}
