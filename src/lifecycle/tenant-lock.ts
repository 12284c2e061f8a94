import { setTimeout as sleep } from "node:timers/promises";
import type { SqlConnection } from "../database/sql-connection.ts";
import { LockTimeout, PlacementChanged, TenantBusy } from "../errors.ts";
import { sql } from "../generated/sql.ts";

/** How long the tenant's lock is waited for, in milliseconds, unless the caller says otherwise. */
export const TENANT_LOCK_WAIT = 30_000;

/** The first try's wait. Who comes after it waits too, so it is short; each further one is twice as long. */
const FIRST_TRY = 1_000;

/** How long the work itself may wait for a lock on something else. */
const OTHER_LOCKS = "5s";

/**
 * Runs `work` in a transaction that no transaction of the tenant runs beside: those that are running are waited for,
 * new ones wait for this one.
 *
 * @param owner a connection as the owner role
 * @param wait for how long to try to get the lock, in milliseconds
 * @throws TenantBusy when the tenant's transactions did not end in time; nothing has changed then
 */
export async function aloneWithTenant<Result>(
  owner: SqlConnection,
  tenantId: string,
  wait: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + wait;
  for (let patience = FIRST_TRY; ; patience *= 2) {
    const left = deadline - performance.now();
    // READ COMMITTED: what follows sees what was committed before the lock was granted.
    await owner.query("begin isolation level read committed");
    try {
      if (await tryLock(owner, tenantId, Math.max(1, Math.min(patience, left)))) {
        const result = await work();
        await owner.query("commit");
        return result;
      }
    } catch (error) {
      await owner.query("rollback").catch(() => {});
      throw error;
    }
    await owner.query("rollback");
    if (left <= patience) throw await tenantBusy(owner, tenantId, wait);
    await sleep(100 + Math.random() * 400);
  }
}

async function tryLock(owner: SqlConnection, tenantId: string, patience: number): Promise<boolean> {
  try {
    await owner.query("select pg_catalog.set_config('lock_timeout', $1, true)", [`${Math.ceil(patience)}ms`]);
    await owner.query("select pg_catalog.pg_advisory_xact_lock(rowhouse.tenant_lock($1))", [tenantId]);
    await owner.query(`set local lock_timeout = '${OTHER_LOCKS}'`);
    return true;
  } catch (error) {
    if (error instanceof LockTimeout) return false;
    throw error;
  }
}

async function tenantBusy(owner: SqlConnection, tenantId: string, wait: number): Promise<TenantBusy> {
  const { rows } = await owner.query<{ who: string }>(sql["db/queries/tenant_lock_holders.sql"], [tenantId]);
  const who = rows.length === 0 ? "" : ` The last of them: ${rows.map((row) => row.who).join(", ")}.`;
  return new TenantBusy(
    `Transactions of tenant ${tenantId} were still running after ${wait / 1000} s.${who} Nothing has changed: try again ` +
      "when it is calmer, or wait longer.",
  );
}

/**
 * Runs `work` in a short transaction during which the tenant cannot be moved, after checking that it has not been: what
 * touches rows that it left behind must not touch those it lives with.
 *
 * @param tenant its id, and the epoch that the caller knows
 * @throws PlacementChanged when the tenant has been moved since
 */
export async function whileTenantStays<Result>(
  owner: SqlConnection,
  tenant: { readonly id: string; readonly epoch: number },
  work: () => Promise<Result>,
): Promise<Result> {
  await owner.query("begin isolation level read committed");
  try {
    await owner.query("select pg_catalog.pg_advisory_xact_lock_shared(rowhouse.tenant_lock($1))", [tenant.id]);
    const { rowCount } = await owner.query("select from rowhouse.tenants where id = $1 and epoch = $2", [
      tenant.id,
      tenant.epoch,
    ]);
    if (rowCount === 0) {
      throw new PlacementChanged(
        `Tenant ${tenant.id} was moved or removed meanwhile. Look where it is, and run again.`,
      );
    }
    const result = await work();
    await owner.query("commit");
    return result;
  } catch (error) {
    await owner.query("rollback").catch(() => {});
    throw error;
  }
}
