import type { SqlConnection } from "../../database/sql-connection.ts";
import { connectSql } from "../../database/sql-connection.ts";
import { ConfigInvalid, MoveRefused } from "../../errors.ts";
import { resetSession } from "../../migrations/ddl-session.ts";
import type { MigrationFolder } from "../../migrations/migration-files.ts";
import { takeMigrationLock } from "../../migrations/migration-lock.ts";
import { dropTenantRole, provisionSchema } from "../provision-schema.ts";
import { TENANT_LOCK_WAIT } from "../tenant-lock.ts";
import { findTenant, type TenantRecord } from "../tenants.ts";
import { eraseFrom } from "./erase-source.ts";
import { type MovedTable, moveRows } from "./move-rows.ts";
import { type MoveDestination, type MovePlan, planMove } from "./plan-move.ts";

export interface MoveOptions {
  readonly to: MoveDestination;
  readonly ownerUrl: string;
  /** Who may make roles: needed for a tenant's first schema, and to remove the role of one that is dropped. */
  readonly adminUrl?: string | undefined;
  readonly rolePrefix: string;
  /** The application's migrations, as `migrate()` gets them: needed for the way into a schema. @defaultValue none */
  readonly folders?: readonly MigrationFolder[];
  /** Leave the rows where they came from as well. @defaultValue false */
  readonly keepSource?: boolean;
  /** How long to wait for the tenant's running transactions, in milliseconds. @defaultValue 30,000 */
  readonly lockWait?: number;
  /** Rows that are erased in one transaction. @defaultValue 5,000 */
  readonly batchSize?: number;
  /** Called as each step begins, and after each batch that was erased. */
  readonly onStep?: (step: MoveStep) => void;
}

export interface MoveStep {
  readonly step: "plan" | "provision" | "lock" | "copy" | "verify" | "commit" | "moved" | "erase" | "done";
  readonly table?: string;
  /** Rows of a batch that was erased. */
  readonly rows?: number;
}

export interface MoveReport {
  readonly tenant: TenantRecord;
  /** False when the tenant lived there already, and only what it had left behind was erased. */
  readonly isMoved: boolean;
  readonly tables: readonly MovedTable[];
  /** For how long the tenant's transactions were held back, in milliseconds. */
  readonly pause: number;
  /** Rows erased from the shared tables. */
  readonly erased: number;
}

/** How long another move of the same tenant, or a migration, is waited for, in milliseconds. */
const RUNNER_WAIT = 60_000;

/** A move that stands still must not keep its tenant out for longer than this. */
const IDLE_TIMEOUT = "60s";

/**
 * Moves a tenant into a schema of its own, or back into the shared tables: makes the place, copies every row in one transaction
 * that holds the tenant's lock, compares, raises the epoch, and erases the source in batches. Other tenants go on meanwhile.
 * Stopped at any point it has either moved everything or nothing; run again, it goes on.
 *
 * @param slugOrId which tenant
 * @throws TenantNotFound
 * @throws MoveRefused when something has to be put right first; nothing has changed then
 * @throws MoveFailed when a table is not the same on both sides; nothing is moved then
 * @throws TenantBusy when the tenant's transactions did not end in time; nothing is moved then
 * @throws MigrationLocked when a migration, or another move of the tenant, is not done in time
 * @throws what {@link provisionSchema} throws
 */
export async function moveTenant(slugOrId: string, options: MoveOptions): Promise<MoveReport> {
  const { ownerUrl, to, keepSource = false, onStep = () => {} } = options;
  await using owner = await connectMover(ownerUrl);
  const { id } = await findTenant(owner, slugOrId);
  // Migrations take the first lock for themselves alone, so tables stay as they are; the second one is this tenant's.
  await using migrations = await takeMigrationLock(ownerUrl, RUNNER_WAIT, { isShared: true });
  await using moves = await takeMigrationLock(ownerUrl, RUNNER_WAIT, { target: `move ${id}` });
  const assertAllowed = async () => {
    await migrations.assertHeld();
    await moves.assertHeld();
  };

  onStep({ step: "plan" });
  const plan = await planOf(owner, id, options);
  assertPossible(plan);
  const result: Omit<MoveReport, "tenant" | "erased"> = plan.isMove
    ? { isMoved: true, ...(await move(owner, plan.tenant, { ...options, onStep, assertAllowed })) }
    : { isMoved: false, tables: [], pause: 0 };
  const tenant = await findTenant(owner, id);
  const erased = keepSource ? 0 : await erase(owner, tenant, other(to), { ...options, onStep });
  onStep({ step: "done" });
  return { tenant, ...result, erased };
}

/**
 * Says what {@link moveTenant} would do and what stands in its way. Changes nothing.
 * @throws TenantNotFound
 */
export async function planTenantMove(slugOrId: string, options: MoveOptions): Promise<MovePlan> {
  await using owner = await connectMover(options.ownerUrl);
  return await planOf(owner, slugOrId, options);
}

const other = (place: MoveDestination): MoveDestination => (place === "schema" ? "shared" : "schema");

async function connectMover(ownerUrl: string): Promise<SqlConnection> {
  const owner = await connectSql(ownerUrl, "rowhouse move");
  await resetSession(owner, "''");
  await owner.query(`set idle_in_transaction_session_timeout = '${IDLE_TIMEOUT}'`);
  return owner;
}

async function planOf(owner: SqlConnection, slugOrId: string, options: MoveOptions): Promise<MovePlan> {
  const { to, folders = [], keepSource = false, adminUrl } = options;
  const plan = await planMove(owner, await findTenant(owner, slugOrId), { to, folders, keepSource });
  if (to !== "schema" || adminUrl !== undefined || !plan.isMove) return plan;
  return {
    ...plan,
    problems: [...plan.problems, "Set ADMIN_DATABASE_URL: only an administrator may make the tenant's role."],
  };
}

function assertPossible({ tenant, to, problems }: MovePlan): void {
  if (problems.length === 0) return;
  throw new MoveRefused(`Tenant "${tenant.slug}" cannot be moved to "${to}" yet:\n- ${problems.join("\n- ")}`);
}

type Mover = MoveOptions & Required<Pick<MoveOptions, "onStep">>;

async function move(
  owner: SqlConnection,
  tenant: TenantRecord,
  options: Mover & { assertAllowed: () => Promise<void> },
) {
  const { to, ownerUrl, adminUrl, rolePrefix, folders = [], keepSource = false, assertAllowed, onStep } = options;
  // What an earlier move has left at the destination and was stopped at erasing.
  await erase(owner, tenant, to, options, "unfinished");
  if (to === "schema") {
    onStep({ step: "provision" });
    if (adminUrl === undefined)
      throw new ConfigInvalid("Set ADMIN_DATABASE_URL: only an administrator may make roles.");
    await provisionSchema(tenant.id, { adminUrl, ownerUrl, rolePrefix, folders });
  }
  const { tables, pause } = await moveRows(owner, tenant, {
    to,
    keepSource,
    lockWait: options.lockWait ?? TENANT_LOCK_WAIT,
    assertAllowed,
    onStep: (step, table) => onStep({ step, ...(table === undefined ? {} : { table }) }),
  });
  onStep({ step: "moved" });
  return { tables, pause };
}

/** @param which only what an earlier move was stopped at erasing, or everything. @defaultValue everything */
async function erase(
  owner: SqlConnection,
  tenant: TenantRecord,
  place: MoveDestination,
  { onStep, batchSize = 5_000, adminUrl, rolePrefix }: Mover,
  which?: "unfinished",
): Promise<number> {
  if (which === "unfinished") {
    const { rowCount } = await owner.query(
      "select from rowhouse.moves where tenant_id = $1 and from_placement = $2 and erased_at is null and not keeps_source",
      [tenant.id, place],
    );
    if (rowCount === 0) return 0;
  }
  onStep({ step: "erase" });
  const erased = await eraseFrom(owner, tenant, place, {
    batchSize,
    onErase: (table, rows) => onStep({ step: "erase", table, rows }),
  });
  if (place === "schema" && adminUrl !== undefined) await dropTenantRole(tenant.id, { adminUrl, rolePrefix });
  return erased;
}
