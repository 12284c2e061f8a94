import { fromDatabaseError, isCachedPlanChanged, isConnectionGone } from "./sql-state.ts";
import { PlacementChanged, TenantNotFound, TenantSuspended, TransactionClosed } from "../errors.ts";
import type { PreambleStatement } from "./flight-query.ts";
import type { Pool, Session } from "./pool.ts";
import type { SqlAnswer, SqlStatement } from "./sql-statement.ts";
import type { StatementNames } from "./statement-names.ts";
import type { TenantLimit } from "./tenant-limit.ts";
import type { TenantRef, TransactionOptions } from "./types.ts";

export interface FlightDeps {
  readonly pool: Pool;
  readonly limit: TenantLimit;
  readonly names: StatementNames;
  /**
   * Asked before a transaction takes its place: refuses a tenant whose schema is older than the code, by rejecting.
   * Undefined where there is nothing to wait for.
   */
  readonly admit: (tenant: TenantRef) => Promise<void> | undefined;
  /** Asks the database where a tenant lives now. */
  readonly locate: (tenantId: string) => Promise<TenantRef | undefined>;
  /** Told of a tenant that `enter()` refused as suspended, moved or gone: whoever remembers it has to look again. */
  readonly onStaleTenant: (tenantId: string) => void;
}

/** A transaction that has begun and entered its tenant. */
export interface Begun {
  /** The tenant as `enter()` has accepted it: another placement than the caller believed in, if it was moved meanwhile. */
  readonly tenant: TenantRef;
  readonly session: Session;
  /** Gives back the tenant's place among its concurrent transactions. */
  readonly leave: () => void;
}

export interface Flight extends Begun {
  /** What became of the first statement. */
  readonly first: PromiseSettledResult<SqlAnswer>;
}

// The isolation level is pinned: enter() must see what was committed before it was granted the tenant's lock.
const BEGIN: PreambleStatement = { text: "begin isolation level read committed", values: [] };
const BEGIN_READ_ONLY: PreambleStatement = { text: "begin isolation level read committed read only", values: [] };

const entries = new WeakMap<TenantRef, PreambleStatement>();

/** The call of `enter()` for a tenant: always the same object while the registry remembers the tenant. */
function enterAs(tenant: TenantRef): PreambleStatement {
  let entry = entries.get(tenant);
  if (!entry) {
    entry = { text: "select rowhouse.enter($1, $2)", values: [tenant.id, String(tenant.epoch)] };
    entries.set(tenant, entry);
  }
  return entry;
}

/** The key under which a statement's name is kept: the same text means other tables in another placement. */
export const statementKey = (tenant: TenantRef): string => (tenant.placement === "shared" ? "shared" : tenant.id);

/** What is to be sent, and asked again once the connection is there: whether the caller still wants it. */
interface Cargo {
  readonly options: TransactionOptions;
  readonly first: SqlStatement;
  readonly isWanted: () => boolean;
}

/**
 * Takes a place and a connection and sends BEGIN, `rowhouse.enter()` and the first statement in one flight.
 * Nothing of it can have been committed, so it flies once more when the pooled connection turned out to be dead, or
 * when a migration had changed the result of the prepared statement, or when the connection was not clean; and to the
 * tenant's new place when it was moved.
 *
 * @param isWanted asked again once the connection is there: the caller may have given up meanwhile
 * @throws what `enter()` refuses (TenantNotFound, TenantSuspended, PlacementChanged, TenantBusy), PoolExhausted,
 *   DatabaseUnavailable, ConnectionLost, and what `admit` rejects with; the connection and the place are given back then
 */
export async function takeOff(
  deps: FlightDeps,
  tenant: TenantRef,
  options: TransactionOptions,
  first: SqlStatement,
  isWanted: () => boolean,
): Promise<Flight> {
  const cargo = { options, first, isWanted };
  const admission = deps.admit(tenant);
  if (admission) await admission;
  const leave = deps.limit.tryEnter(tenant.id) ?? (await deps.limit.enter(tenant.id));
  try {
    return { ...(await flyAfter(deps, tenant, cargo)), leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Flies to where the tenant lives, following it when it has moved: each time round it has a new epoch. */
async function flyAfter(deps: FlightDeps, tenant: TenantRef, cargo: Cargo): Promise<Omit<Flight, "leave">> {
  try {
    const flight = (await attempt(deps, tenant, cargo)) ?? (await attempt(deps, tenant, cargo, true));
    if (flight) return flight;
    throw new Error("a second attempt always ends in a flight or an error");
  } catch (error) {
    if (isStale(error)) deps.onStaleTenant(tenant.id);
    if (!(error instanceof PlacementChanged)) throw error;
    const moved = await deps.locate(tenant.id);
    if (!moved || moved.epoch === tenant.epoch) throw error;
    await deps.admit(moved);
    return flyAfter(deps, moved, cargo);
  }
}

/** True when `enter()` found the tenant to be another than the caller took it for. */
function isStale(error: unknown): boolean {
  return error instanceof PlacementChanged || error instanceof TenantNotFound || error instanceof TenantSuspended;
}

/** @returns undefined when it is worth trying once more */
async function attempt(
  deps: FlightDeps,
  tenant: TenantRef,
  { options, first, isWanted }: Cargo,
  isLast = false,
): Promise<Omit<Flight, "leave"> | undefined> {
  const session = await deps.pool.acquire();
  if (!isWanted()) {
    session.release();
    throw new TransactionClosed("The transaction was rolled back before its first statement was sent.");
  }
  const preamble = [
    deps.names.preamble(options.readOnly ? BEGIN_READ_ONLY : BEGIN, session),
    deps.names.preamble(enterAs(tenant), session),
  ];
  // A cold connection parses the preamble in this flight, and pg would take that for the parsing of a named statement.
  const isWarm = preamble.every((ahead) => ahead.isPrepared);
  const statement = isLast || !isWarm ? first : deps.names.name(first, session, statementKey(tenant));
  const outcome = await session.sendFlight(preamble, statement);
  if (outcome.ok) return { session, tenant, first: { status: "fulfilled", value: outcome.answer } };

  const { error, completed } = outcome;
  if (completed === 0) {
    session.destroy();
    if (!isLast && isConnectionGone(error)) return undefined;
    throw fromDatabaseError(error, "enter");
  }
  if (completed === 1) {
    await abandon(session, error, isWarm);
    if (!isLast && isUnclean(error)) return undefined;
    throw fromDatabaseError(error, "enter");
  }
  if (isCachedPlanChanged(error) && !isLast) {
    // Destroyed rather than returned: its other plans are as old.
    deps.names.renew();
    session.destroy();
    return undefined;
  }
  return { session, tenant, first: { status: "rejected", reason: error } };
}

/** Ends a transaction that could not be entered. */
async function abandon(session: Session, reason: unknown, isWarm: boolean): Promise<void> {
  // Cold: enter() itself may not have been parsed, though it counts as such.
  if (isConnectionGone(reason) || isUnclean(reason) || !isWarm) {
    session.destroy();
    return;
  }
  await session.command("rollback").catch(() => {});
  session.release();
}

/** RH004: something outlived an earlier transaction on this connection, so nobody may have it again. */
function isUnclean(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "RH004";
}
