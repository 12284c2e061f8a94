import { tenantSchema } from "../../database/role-names.ts";
import type { SqlConnection } from "../../database/sql-connection.ts";
import { DDL_LOCK_TRIES, withLockRetries } from "../../migrations/ddl-session.ts";
import { whileTenantStays } from "../tenant-lock.ts";
import { stopTriggers } from "./move-rows.ts";
import { moveTables, type MoveTable, parentsFirst } from "./move-tables.ts";
import { firesTriggers, type MoveDestination } from "./plan-move.ts";

export interface EraseOptions {
  /** Rows of a transaction, at the most, where the table's keys allow it. */
  readonly batchSize: number;
  /** Called after each batch. */
  readonly onErase: (table: string, rows: number) => void;
}

/** Who lives where: `epoch` keeps what is erased apart from what a later move has made of it. */
interface Settled {
  readonly id: string;
  readonly epoch: number;
}

/**
 * Erases a tenant's rows where it does not live: rows in the shared tables in batches, a schema of its own as a whole.
 * Every transaction of it is short, and checks that the tenant still lives elsewhere. It may be run again.
 *
 * @param owner a connection as the owner role, outside any transaction, with an empty search_path
 * @returns how many rows were erased from the shared tables; 0 for a schema
 * @throws PlacementChanged when the tenant was moved meanwhile
 */
export async function eraseFrom(
  owner: SqlConnection,
  tenant: Settled,
  place: MoveDestination,
  options: EraseOptions,
): Promise<number> {
  const erased = place === "shared" ? await eraseRows(owner, tenant, options) : await dropSchema(owner, tenant);
  await owner.query(
    `update rowhouse.moves set erased_at = pg_catalog.now()
     where tenant_id = $1 and from_placement = $2 and erased_at is null and epoch <= $3`,
    [tenant.id, place, tenant.epoch],
  );
  return erased;
}

async function dropSchema(owner: SqlConnection, tenant: Settled): Promise<number> {
  const schema = tenantSchema(tenant.id);
  // It takes the lock of the global tables that the schema's refer to, for a moment: so it waits for it in short tries.
  await withLockRetries(DDL_LOCK_TRIES, () =>
    whileTenantStays(owner, tenant, async () => {
      await owner.query(`drop schema if exists ${schema} cascade`);
      await owner.query("delete from rowhouse.migrations where target = $1", [schema]);
    }),
  );
  return 0;
}

async function eraseRows(owner: SqlConnection, tenant: Settled, options: EraseOptions): Promise<number> {
  const tables = (await moveTables(owner, tenant.id)).filter(({ inShared }) => inShared);
  const firing = firesTriggers(tables, "deleteTriggers");
  const inBatch: InBatch = (text, values) =>
    whileTenantStays(owner, tenant, async () => {
      if (firing) await stopTriggers(owner, []);
      return (await owner.query(text, values)).rows as never;
    });
  let erased = 0;
  const count = (table: string, rows: number) => {
    erased += rows;
    if (rows > 0) options.onErase(table, rows);
  };
  for (const group of parentsFirst(tables).reverse()) {
    const [table] = group;
    if (group.length === 1 && isInPieces(table!))
      await eraseTable(inBatch, tenant.id, table!, options.batchSize, count);
    else count(...(await eraseTogether(inBatch, tenant.id, group)));
  }
  return erased;
}

type InBatch = <Row extends object>(text: string, values: readonly unknown[]) => Promise<Row[]>;

/** A row that others of the table refer to cannot go before them. */
const isInPieces = ({ name, key, refersTo }: MoveTable): boolean => key.length > 0 && !refersTo.includes(name);

/** Goes through the primary key in ranges, so that no batch looks at what the ones before it have erased. */
async function eraseTable(
  inBatch: InBatch,
  tenantId: string,
  { name, shared, key }: MoveTable,
  batchSize: number,
  count: (table: string, rows: number) => void,
): Promise<void> {
  const columns = key.join(", ");
  const texts = key.map((column) => `${column}::text`).join(", ");
  let last: string[] | undefined;
  for (;;) {
    const beyond = last ? `and (${columns}) > (${key.map((_, index) => `$${index + 3}`).join(", ")})` : "";
    const rows = await inBatch<{ key: string[] }>(
      `with batch as materialized (
         select ${columns} from ${shared} where tenant_id = $1 ${beyond} order by ${columns} limit $2
       ), gone as (
         delete from ${shared} t using batch b where t.tenant_id = $1 and ${key.map((c) => `t.${c} = b.${c}`).join(" and ")}
       )
       select array[${texts}] as key from batch order by ${columns}`,
      [tenantId, batchSize, ...(last ?? [])],
    );
    count(name, rows.length);
    if (rows.length < batchSize) return;
    last = rows.at(-1)!.key;
  }
}

/** Tables that refer to themselves or to each other in a circle: foreign keys are checked at a statement's end. */
async function eraseTogether(
  inBatch: InBatch,
  tenantId: string,
  group: readonly MoveTable[],
): Promise<[string, number]> {
  const parts = group.map(
    ({ shared }, index) => `t${index} as (delete from ${shared} where tenant_id = $1 returning 1)`,
  );
  const counts = group.map((_, index) => `(select count(*) from t${index})`).join(" + ");
  const [row] = await inBatch<{ erased: string }>(`with ${parts.join(", ")} select ${counts} as erased`, [tenantId]);
  return [group.map(({ name }) => name).join(", "), Number(row!.erased)];
}
