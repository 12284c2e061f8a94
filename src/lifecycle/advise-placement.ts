import { setTimeout as sleep } from "node:timers/promises";
import type { SqlConnection } from "../database/sql-connection.ts";
import type { Placement } from "../database/types.ts";
import { sql } from "../generated/sql.ts";
import { listTenants, type TenantRecord } from "./tenants.ts";

/** A shared table, and its indexes that row-level security keeps from being used. */
export interface AdvisedTable {
  readonly table: string;
  readonly rows: number;
  readonly bytes: number;
  readonly hindered: readonly {
    readonly index: string;
    /** The operators that it serves and that are not leakproof, or what else it was made for. */
    readonly searchesBy: string;
  }[];
}

export interface TenantAdvice {
  readonly id: string;
  readonly slug: string;
  readonly placement: Placement;
  /** In the shared tables, estimated from a sample of large ones. */
  readonly rows: number;
  /** Its part of all rows in the shared tables, 0 to 1. */
  readonly rowShare: number;
  /** Transactions at work at the same time, on average over the time that was watched. */
  readonly load: number;
  /** Its part of all transactions that were seen, 0 to 1. */
  readonly loadShare: number;
  /** Why it would gain from a schema of its own; empty when it would not. */
  readonly reasons: readonly string[];
}

export interface PlacementAdvice {
  readonly tables: readonly AdvisedTable[];
  /** Those that would gain first, then by their rows. */
  readonly tenants: readonly TenantAdvice[];
}

export interface AdviseOptions {
  /** For how long transactions are watched, in milliseconds. @defaultValue 5,000 */
  readonly watch?: number;
}

/**
 * From this many rows of a tenant in a table, a search that cannot use its index takes about ten times as long as one that
 * can (bench/placement.ts with 20,000 rows).
 */
const SEARCHED_ROWS = 20_000;
/** A part of the rows, or of the load, above which one customer weighs on all others. */
const HEAVY_SHARE = 0.25;
/** Below it a large part means little. */
const HEAVY_ROWS = 100_000;
const HEAVY_LOAD = 0.5;
/** Rows that are read of a table at the most, about. */
const SAMPLE_ROWS = 200_000;
const WATCH_INTERVAL_MS = 100;

/**
 * Says which tenants of the shared tables would gain from a schema of their own, and on what evidence: their part of the rows, indexes that
 * row-level security keeps from being used on tables where they have many rows, their part of the load. Only reads.
 *
 * @param owner a connection as the owner role
 */
export async function advisePlacement(
  owner: SqlConnection,
  { watch = 5_000 }: AdviseOptions = {},
): Promise<PlacementAdvice> {
  const tables = await readTables(owner);
  const counts = new Map<string, Map<string, number>>();
  for (const table of tables) counts.set(table.table, await countByTenant(owner, table));
  const load = await watchLoad(owner, watch);
  const totals: Totals = {
    rows: sum([...counts.values()].map((byTenant) => sum(byTenant.values()))),
    load: sum(load.values()),
  };
  const tenants = (await listTenants(owner)).map((tenant) => adviceFor(tenant, tables, counts, load, totals));
  return {
    tables: tables.map((table) => ({ ...table, rows: Math.round(sum(counts.get(table.table)!.values())) })),
    tenants: tenants.sort(
      (left, right) => Number(right.reasons.length > 0) - Number(left.reasons.length > 0) || right.rows - left.rows,
    ),
  };
}

interface ReadTable extends Omit<AdvisedTable, "rows"> {
  /** Null when it was never analysed. */
  readonly rowsEstimate: number | null;
}

interface Totals {
  readonly rows: number;
  readonly load: number;
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

async function readTables(owner: SqlConnection): Promise<ReadTable[]> {
  await owner.query("set search_path = ''");
  const { rows } = await owner.query<ReadTable>(sql["db/queries/advise_tables.sql"]);
  return rows;
}

/** Rows by tenant: counted in a small table, estimated from some of the pages of a large one. */
async function countByTenant(owner: SqlConnection, { table, rowsEstimate }: ReadTable): Promise<Map<string, number>> {
  const part = rowsEstimate === null ? 1 : Math.min(1, SAMPLE_ROWS / Math.max(1, rowsEstimate));
  const sample = part < 1 ? ` tablesample system (${part * 100})` : "";
  const { rows } = await owner.query<{ id: string; rows: string }>(
    `select tenant_id as id, count(*) as rows from ${table}${sample} group by tenant_id`,
  );
  return new Map(rows.map((row) => [row.id, Math.round(Number(row.rows) / part)]));
}

/** Transactions of each tenant, on average over the looks that were taken. */
async function watchLoad(owner: SqlConnection, watch: number): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const end = performance.now() + watch;
  let looks = 0;
  do {
    const { rows } = await owner.query<{ id: string; transactions: number }>(sql["db/queries/advise_load.sql"]);
    for (const { id, transactions } of rows) seen.set(id, (seen.get(id) ?? 0) + transactions);
    looks += 1;
    await sleep(WATCH_INTERVAL_MS);
  } while (performance.now() < end);
  return new Map([...seen].map(([id, count]) => [id, count / looks]));
}

function adviceFor(
  { id, slug, placement }: TenantRecord,
  tables: readonly ReadTable[],
  counts: ReadonlyMap<string, ReadonlyMap<string, number>>,
  loads: ReadonlyMap<string, number>,
  totals: Totals,
): TenantAdvice {
  const rowsIn = (table: string) => counts.get(table)?.get(id) ?? 0;
  const rows = sum(tables.map(({ table }) => rowsIn(table)));
  const load = loads.get(id) ?? 0;
  const rowShare = totals.rows > 0 ? rows / totals.rows : 0;
  const loadShare = totals.load > 0 ? load / totals.load : 0;
  const reasons = [
    ...tables
      .filter(({ table, hindered }) => hindered.length > 0 && rowsIn(table) >= SEARCHED_ROWS)
      .map(({ table, hindered }) => {
        const indexes = hindered.map(({ index, searchesBy }) => `${index} (${searchesBy})`).join(", ");
        return `a search reads about ${rowsIn(table)} rows of ${table}, since row-level security keeps it from using ${indexes}`;
      }),
    ...(rowShare >= HEAVY_SHARE && rows >= HEAVY_ROWS
      ? [`it holds ${percent(rowShare)} of all rows in the shared tables`]
      : []),
    ...(loadShare >= HEAVY_SHARE && load >= HEAVY_LOAD ? [`it makes ${percent(loadShare)} of the load`] : []),
  ];
  return { id, slug, placement, rows, rowShare, load, loadShare, reasons: placement === "shared" ? reasons : [] };
}

const percent = (part: number): string => `${Math.round(part * 100)} %`;
