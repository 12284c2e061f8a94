import { tenantSchema } from "../../database/role-names.ts";
import type { SqlConnection } from "../../database/sql-connection.ts";
import { MoveFailed, MoveRefused, PlacementChanged } from "../../errors.ts";
import { sql } from "../../generated/sql.ts";
import { aloneWithTenant } from "../tenant-lock.ts";
import type { TenantRecord } from "../tenants.ts";
import { moveTables, type MoveTable, parentsFirst } from "./move-tables.ts";
import { firesTriggers, ledgerDifferences, type MoveDestination, tableProblems } from "./plan-move.ts";

/** A table whose rows were moved: how many, and their checksum, which does not depend on their order. */
export interface MovedTable {
  readonly name: string;
  readonly rows: number;
  /** The sum of `hashtextextended()` over the rows as text; as text itself, since it outgrows a double. */
  readonly checksum: string;
}

export interface MovedRows {
  readonly tables: readonly MovedTable[];
  /** The tenant's new epoch. */
  readonly epoch: number;
  /** For how long the tenant's transactions were held back, in milliseconds. */
  readonly pause: number;
}

export interface MoveRowsOptions {
  readonly to: MoveDestination;
  readonly keepSource: boolean;
  /** How long to wait for the tenant's running transactions, in milliseconds. */
  readonly lockWait: number;
  /** Called as each step begins. */
  readonly onStep: (step: "lock" | "copy" | "verify" | "commit", table?: string) => void;
  /** Rejects when the move may no longer be completed; asked just before it is. */
  readonly assertAllowed: () => Promise<void>;
}

/**
 * Moves a tenant's rows in one transaction, in which no transaction of the tenant's own runs: copies them, compares count and
 * checksum of each table, and raises the epoch, so that `rowhouse.enter()` refuses whoever takes the tenant to be where it
 * was. The rows stay where they came from.
 *
 * @param owner a connection as the owner role, with an empty search_path
 * @throws TenantBusy when the tenant's transactions did not end in time
 * @throws MoveRefused when the two places do not have the same tables
 * @throws MoveFailed when a table is not the same afterwards
 * @throws PlacementChanged when the tenant was moved since it was read
 */
export function moveRows(owner: SqlConnection, tenant: TenantRecord, options: MoveRowsOptions): Promise<MovedRows> {
  options.onStep("lock");
  return aloneWithTenant(owner, tenant.id, options.lockWait, async () => {
    await assertUnmoved(owner, tenant);
    const tables = await readyTables(owner, tenant);
    await copyTables(owner, tenant, tables, options);
    const moved: MovedTable[] = [];
    for (const table of tables) {
      options.onStep("verify", table.name);
      moved.push(await verifyTable(owner, tenant, table));
    }
    await moveSequences(owner, tenant, options.to);
    // A new table has no statistics, and autovacuum would make them only after the first queries.
    if (options.to === "schema") for (const { dedicated } of tables) await owner.query(`analyze ${dedicated}`);
    options.onStep("commit");
    await options.assertAllowed();
    return await settle(owner, tenant, moved, options);
  });
}

async function assertUnmoved(owner: SqlConnection, { id, epoch }: TenantRecord): Promise<void> {
  // The transaction's age is that of its wait for the lock; this is when the wait was over.
  await owner.query("select pg_catalog.set_config('app.locked_at', pg_catalog.clock_timestamp()::text, true)");
  const { rows } = await owner.query("select from rowhouse.tenants where id = $1 and epoch = $2 for update", [
    id,
    epoch,
  ]);
  if (rows.length > 0) return;
  throw new PlacementChanged(`Tenant ${id} was moved or removed meanwhile. Look where it is, and run again.`);
}

async function readyTables(owner: SqlConnection, tenant: TenantRecord): Promise<MoveTable[]> {
  const tables = await moveTables(owner, tenant.id);
  const problems = [...(await ledgerDifferences(owner, tenant.id)), ...tableProblems(tables, tenant)];
  if (problems.length > 0)
    throw new MoveRefused(`Tenant "${tenant.slug}" cannot be moved:\n- ${problems.join("\n- ")}`);
  return tables;
}

async function copyTables(
  owner: SqlConnection,
  { id }: TenantRecord,
  tables: readonly MoveTable[],
  { to, onStep }: MoveRowsOptions,
): Promise<void> {
  // What a trigger does was done when the row was first written: a second time would not be the same rows.
  if (to === "schema") for (const text of tables.flatMap((table) => table.disableTriggers)) await owner.query(text);
  else if (firesTriggers(tables, "insertTriggers")) await stopTriggers(owner, tables);
  // Migrations may have put rows there; nobody but they has written to it.
  if (to === "schema" && tables.length > 0) await owner.query(`truncate ${tables.map((t) => t.dedicated).join(", ")}`);
  for (const group of parentsFirst(tables)) {
    onStep("copy", group.map(({ name }) => name).join(", "));
    const parts = group.map((table, index) => `t${index} as (${copyStatement(table, to, id)} returning 1)`);
    await owner.query(`with ${parts.join(", ")} select`);
  }
  // An ALTER TABLE is refused while checks of foreign keys are outstanding.
  await owner.query("set constraints all immediate");
  if (to === "schema") for (const text of tables.flatMap((table) => table.enableTriggers)) await owner.query(text);
}

function copyStatement(
  { shared, dedicated, columns, toShared, toDedicated }: MoveTable,
  to: MoveDestination,
  id: string,
) {
  const [from, there, values] = to === "schema" ? [shared, dedicated, toDedicated] : [dedicated, shared, toShared];
  return `insert into ${there} (${columns}) overriding system value select ${values} from ${from} where tenant_id = '${id}'`;
}

/**
 * Keeps triggers from firing for the rest of the transaction: those of foreign keys too. The rows satisfy these where they come from,
 * and what they refer to outside is kept from changing.
 */
export async function stopTriggers(owner: SqlConnection, tables: readonly MoveTable[]): Promise<void> {
  const outside = [...new Set(tables.flatMap((table) => table.refersOutside))];
  if (outside.length > 0) await owner.query(`lock table ${outside.join(", ")} in share mode`);
  await owner.query("set local session_replication_role = replica");
}

/** Compares both sides, as they are in this transaction. */
async function verifyTable(owner: SqlConnection, { id }: TenantRecord, table: MoveTable): Promise<MovedTable> {
  const side = (from: string) =>
    `select count(*) as rows, coalesce(sum(pg_catalog.hashtextextended(row(${table.allColumns})::text, 0)::numeric), 0)::text
       as checksum from ${from} where tenant_id = '${id}'`;
  const { rows } = await owner.query<{ rows: string; checksum: string }>(
    `${side(table.shared)} union all ${side(table.dedicated)}`,
  );
  const [shared, dedicated] = rows;
  if (shared!.rows === dedicated!.rows && shared!.checksum === dedicated!.checksum) {
    return { name: table.name, rows: Number(shared!.rows), checksum: shared!.checksum };
  }
  throw new MoveFailed(
    `Table ${table.name} is not the same in both places: ${shared!.rows} rows with checksum ${shared!.checksum} in ` +
      `${table.shared}, ${dedicated!.rows} with ${dedicated!.checksum} in ${table.dedicated}. Nothing was moved. Does a rule or a default of one ` +
      "of them change what is written?",
  );
}

/**
 * Sequences go on where the later one stands. The shared one is in use: should others draw a thousand numbers between this
 * statement's read and its write, they would get numbers twice.
 */
async function moveSequences(owner: SqlConnection, { id }: TenantRecord, to: MoveDestination): Promise<void> {
  const { rows } = await owner.query<{ shared: string; dedicated: string }>(sql["db/queries/move_sequences.sql"], [
    tenantSchema(id),
  ]);
  for (const { shared, dedicated } of rows) {
    const [from, there, margin] = to === "schema" ? [shared, dedicated, 0] : [dedicated, shared, 1_000];
    await owner.query(
      `select pg_catalog.setval('${there.replaceAll("'", "''")}', f.last_value + ${margin}, f.is_called)
       from ${from} f, ${there} t where f.last_value > t.last_value or f.is_called and not t.is_called`,
    );
  }
}

async function settle(
  owner: SqlConnection,
  { id, placement }: TenantRecord,
  tables: readonly MovedTable[],
  { to, keepSource }: MoveRowsOptions,
): Promise<MovedRows> {
  const { rows } = await owner.query<{ epoch: number; pause: number }>(
    `with moved as (
       update rowhouse.tenants set placement = $2, epoch = epoch + 1 where id = $1 returning epoch
     )
     insert into rowhouse.moves
       (tenant_id, epoch, from_placement, to_placement, tables, locked_at, moved_at, keeps_source)
     select $1, m.epoch, $3, $2, $4, pg_catalog.current_setting('app.locked_at')::timestamptz, pg_catalog.clock_timestamp(), $5
     from moved m
     returning epoch, extract(epoch from moved_at - locked_at)::float8 * 1000 as pause`,
    [id, to, placement, JSON.stringify(tables), keepSource],
  );
  return { tables, epoch: rows[0]!.epoch, pause: Math.round(rows[0]!.pause) };
}
