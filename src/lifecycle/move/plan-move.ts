import { tenantSchema } from "../../database/role-names.ts";
import type { SqlConnection } from "../../database/sql-connection.ts";
import type { Placement } from "../../database/types.ts";
import { sql } from "../../generated/sql.ts";
import { migrationStatus } from "../../migrations/migration-status.ts";
import type { MigrationFolder } from "../../migrations/migration-files.ts";
import type { TenantRecord } from "../tenants.ts";
import { moveTables, type MoveTable } from "./move-tables.ts";

/** What a move would do, and what stands in its way. */
export interface MovePlan {
  readonly tenant: TenantRecord;
  readonly to: MoveDestination;
  /** False when the tenant lives there already, and only what it has left behind is to be erased. */
  readonly isMove: boolean;
  /** The tables, and how many rows of the tenant each holds where it lives now. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  /** What will be done, in order, in words. */
  readonly steps: readonly string[];
  /** What has to be put right first; a move with one of them is refused. */
  readonly problems: readonly string[];
}

export type MoveDestination = Exclude<Placement, "database">;

export interface PlanOptions {
  readonly to: MoveDestination;
  /** The application's migrations, as `migrate()` gets them: a schema of the tenant's own is made from them. */
  readonly folders: readonly MigrationFolder[];
  readonly keepSource: boolean;
}

/**
 * Looks at what a move would do, and changes nothing.
 * @param owner a connection as the owner role, with an empty search_path
 * @throws MigrationInvalid when a folder cannot be read
 */
export async function planMove(owner: SqlConnection, tenant: TenantRecord, options: PlanOptions): Promise<MovePlan> {
  const { to } = options;
  const isMove = tenant.placement !== to;
  const tables = await moveTables(owner, tenant.id);
  const counted = isMove && tenant.placement !== "database" ? await countRows(owner, tenant, tables) : [];
  const problems = isMove ? await findProblems(owner, tenant, tables, options) : [];
  return { tenant, to, isMove, tables: counted, steps: stepsOf(tenant, isMove, options), problems };
}

async function countRows(owner: SqlConnection, { id, placement }: TenantRecord, tables: readonly MoveTable[]) {
  const counts: { name: string; rows: number }[] = [];
  for (const table of tables.filter(({ inShared, inDedicated }) => (placement === "shared" ? inShared : inDedicated))) {
    const from = placement === "shared" ? table.shared : table.dedicated;
    const { rows } = await owner.query<{ rows: string }>(`select count(*) as rows from ${from} where tenant_id = $1`, [
      id,
    ]);
    counts.push({ name: table.name, rows: Number(rows[0]!.rows) });
  }
  return counts;
}

function stepsOf({ id, placement }: TenantRecord, isMove: boolean, { to, keepSource }: PlanOptions): string[] {
  const schema = tenantSchema(id);
  const [from, there] =
    to === "schema" ? ["the shared tables", `schema ${schema}`] : [`schema ${schema}`, "the shared tables"];
  const erase =
    to === "schema" ? "erase the tenant's rows from the shared tables, in batches" : `drop schema ${schema}`;
  const kept = `keep what is in ${from}: run again without --keep-source to erase it`;
  if (!isMove) return [`the tenant has the placement "${placement}" already`, keepSource ? kept : erase];
  return [
    ...(to === "schema" ? [`make the tenant's role and ${there}, and migrate it`] : []),
    "take the tenant's lock: its requests wait; after their lock_timeout they get 503 with Retry-After",
    `copy the rows from ${from} to ${there}, in one transaction`,
    "compare count and checksum of each table",
    "raise the tenant's epoch and commit: requests go on in the new place",
    keepSource ? kept : erase,
  ];
}

async function findProblems(
  owner: SqlConnection,
  tenant: TenantRecord,
  tables: readonly MoveTable[],
  { to, folders, keepSource }: PlanOptions,
): Promise<string[]> {
  if (tenant.placement === "database") return ["A tenant in a database of its own cannot be moved yet."];
  const differences = await ledgerDifferences(owner, tenant.id);
  // A schema that is not made yet, or whose making was stopped, is brought up first: its tables are compared after that.
  const isComparable = to === "shared" || differences.length === 0;
  return [
    ...(to === "shared" ? differences : await migrationProblems(owner, folders)),
    ...(isComparable ? tableProblems(tables, tenant) : []),
    ...(await triggerProblems(owner, tables, to, keepSource)),
    ...(await leftoverProblems(owner, tenant, tables, to)),
  ];
}

async function migrationProblems(owner: SqlConnection, folders: readonly MigrationFolder[]): Promise<string[]> {
  const sources = folders.map(({ source }) => source);
  const missing = await owner.query<{ source: string }>(sql["db/queries/missing_sources.sql"], [sources]);
  const shared = (await migrationStatus(owner, folders)).find(({ target }) => target === "shared");
  return [
    ...missing.rows.map(
      ({ source }) => `The shared schema has migrations of "${source}": name that folder too, with --migrations.`,
    ),
    ...(shared?.state === "current"
      ? []
      : [
          `The shared schema is ${shared?.state ?? "behind"}: ${shared?.pending.join(", ") ?? ""}. Run \`rowhouse migrate\` first.`,
        ]),
  ];
}

/** Says in which migrations the two places differ: their tables may then differ too. */
export async function ledgerDifferences(owner: SqlConnection, tenantId: string): Promise<string[]> {
  const { rows } = await owner.query<{ id: string; target: string }>(sql["db/queries/ledger_differences.sql"], [
    tenantSchema(tenantId),
  ]);
  return rows.map(({ id, target }) => `Migration ${id} is applied in ${target} only. Run \`rowhouse migrate\` first.`);
}

/** Says in what the tables of the two places differ. */
export function tableProblems(tables: readonly MoveTable[], { id }: { readonly id: string }): string[] {
  const schema = tenantSchema(id);
  return tables.flatMap(({ name, shared, dedicated, inShared, inDedicated, lonely }) => {
    if (!inShared) return [`There is a table ${dedicated}, but no ${shared}. Make it by a migration, or drop it.`];
    if (!inDedicated) return [`There is a table ${shared}, but none in ${schema}. Make it by a migration, or drop it.`];
    if (lonely.length === 0) return [];
    return [
      `Columns of ${name} are in one of ${shared} and ${dedicated} only: ${lonely.join(", ")}. Make them by a migration.`,
    ];
  });
}

/** True when triggers of shared tables have to be kept from firing: they have done their work when a row was first written. */
export const firesTriggers = (tables: readonly MoveTable[], kind: "insertTriggers" | "deleteTriggers"): boolean =>
  tables.some((table) => table[kind].length > 0);

async function triggerProblems(
  owner: SqlConnection,
  tables: readonly MoveTable[],
  to: MoveDestination,
  keepSource: boolean,
): Promise<string[]> {
  const kind = to === "shared" ? "insertTriggers" : "deleteTriggers";
  if ((to === "schema" && keepSource) || !firesTriggers(tables, kind)) return [];
  const problems = tables.flatMap(({ shared, alwaysTriggers, ...table }) =>
    alwaysTriggers
      .filter((name) => table[kind].includes(name))
      .map(
        (name) =>
          `Trigger "${name}" of ${shared} is ENABLE ALWAYS, so it would fire for every row that is moved. Enable it normally.`,
      ),
  );
  const { rows } = await owner.query<{ may: boolean; me: string }>(
    "select pg_catalog.has_parameter_privilege('session_replication_role', 'set') as may, current_user::text as me",
  );
  if (rows[0]!.may) return problems;
  const names = tables.flatMap((table) => table[kind].map((name) => `"${name}" of ${table.shared}`)).join(", ");
  return [
    ...problems,
    `Trigger ${names} would fire for every row that is moved, and only who may set session_replication_role can keep it from that. ` +
      `As a superuser: grant set on parameter session_replication_role to ${rows[0]!.me}` +
      (to === "schema" ? "; or leave the rows in the shared tables, with --keep-source." : "."),
  ];
}

async function leftoverProblems(
  owner: SqlConnection,
  { id, slug, placement }: TenantRecord,
  tables: readonly MoveTable[],
  to: MoveDestination,
): Promise<string[]> {
  const { rows } = await owner.query<{ keeps_source: boolean }>(
    `select keeps_source from rowhouse.moves
     where tenant_id = $1 and from_placement = $2 and erased_at is null order by epoch desc limit 1`,
    [id, to],
  );
  // What an earlier move was stopped at is finished first; what it was told to keep is not erased unasked.
  if (rows[0]?.keeps_source === false) return [];
  if (rows[0] === undefined && to === "schema") return [];
  const held: string[] = [];
  for (const table of tables.filter(({ inShared, inDedicated }) => (to === "shared" ? inShared : inDedicated))) {
    const there = to === "shared" ? table.shared : table.dedicated;
    const { rowCount } = await owner.query(`select from ${there} where tenant_id = $1 limit 1`, [id]);
    if (rowCount > 0) held.push(there);
  }
  if (held.length === 0) return [];
  return [
    `${held.join(", ")} still hold rows of the tenant, from before an earlier move. Erase them first: ` +
      `\`rowhouse tenant move ${slug} --to ${placement}\` does.`,
  ];
}
