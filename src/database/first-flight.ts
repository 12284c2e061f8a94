import { fromDatabaseError, isCachedPlanChanged, isConnectionGone } from "./sql-state.ts";
import { TransactionClosed } from "../errors.ts";
import type { Pool, Session, SqlResult, SqlStatement } from "./pool.ts";
import type { StatementNames } from "./statement-names.ts";
import type { TenantLimit } from "./tenant-limit.ts";
import type { TenantRef, TransactionOptions } from "./types.ts";

export interface FlightDeps {
  readonly pool: Pool;
  readonly limit: TenantLimit;
  readonly names: StatementNames;
}

/** A transaction that has begun and entered its tenant. */
export interface Begun {
  readonly session: Session;
  /** Gives back the tenant's place among its concurrent transactions. */
  leave(): void;
}

export interface Flight extends Begun {
  /** What became of the first statement. */
  readonly first: PromiseSettledResult<SqlResult>;
}

// The isolation level is pinned: enter() must see what was committed before it was granted the tenant's lock.
const BEGIN: SqlStatement = { text: "begin isolation level read committed" };
const BEGIN_READ_ONLY: SqlStatement = { text: "begin isolation level read committed read only" };
const ROLLBACK: SqlStatement = { text: "rollback" };
const ENTER = "select rowhouse.enter($1, $2)";

/** The key under which a statement's name is kept: the same text means other tables in another placement. */
export const statementKey = (tenant: TenantRef): string => (tenant.placement === "shared" ? "shared" : tenant.id);

/**
 * Takes a place and a connection and sends BEGIN, `rowhouse.enter()` and the first statement in one flight.
 * Nothing of it can have been committed, so it flies once more when the pooled connection turned out to be dead, or
 * when a migration had changed the result of the prepared statement.
 *
 * @param isWanted asked again once the connection is there: the caller may have given up meanwhile
 * @throws what `enter()` refuses (TenantNotFound, TenantSuspended, PlacementChanged, TenantBusy), PoolExhausted,
 *   DatabaseUnavailable, ConnectionLost; the connection and the place are given back then
 */
export async function takeOff(
  deps: FlightDeps,
  tenant: TenantRef,
  options: TransactionOptions,
  first: SqlStatement,
  isWanted: () => boolean,
): Promise<Flight> {
  const leave = await deps.limit.enter(tenant.id);
  try {
    const flight =
      (await attempt(deps, tenant, options, first, isWanted)) ??
      (await attempt(deps, tenant, options, first, isWanted, true));
    if (flight) return { ...flight, leave };
    throw new Error("a second attempt always ends in a flight or an error");
  } catch (error) {
    leave();
    throw error;
  }
}

/** @returns undefined when it is worth trying once more */
async function attempt(
  deps: FlightDeps,
  tenant: TenantRef,
  options: TransactionOptions,
  first: SqlStatement,
  isWanted: () => boolean,
  isLast = false,
): Promise<Omit<Flight, "leave"> | undefined> {
  const session = await deps.pool.acquire();
  if (!isWanted()) {
    session.release();
    throw new TransactionClosed("The transaction was rolled back before its first statement was sent.");
  }
  const statement = isLast ? first : deps.names.name(first, session, statementKey(tenant));
  const enter = { text: ENTER, values: [tenant.id, tenant.epoch] };
  const flight = session.inOneFlight(() => [
    session.send(options.readOnly ? BEGIN_READ_ONLY : BEGIN),
    session.send(deps.names.name(enter, session, "enter")),
    session.send(statement),
  ]);
  // All three are awaited, so the first statement's result is never released before BEGIN and enter() have answered.
  const [began, entered, result] = (await Promise.allSettled(flight)) as [Settled, Settled, Settled];

  if (began.status === "rejected") {
    session.destroy();
    if (!isLast && isConnectionGone(began.reason)) return undefined;
    throw fromDatabaseError(began.reason, "enter");
  }
  if (entered.status === "rejected") {
    await abandon(session, entered.reason);
    throw fromDatabaseError(entered.reason, "enter");
  }
  if (result.status === "rejected" && isCachedPlanChanged(result.reason) && !isLast) {
    // Destroyed rather than returned: its other plans are as old.
    deps.names.renew();
    session.destroy();
    return undefined;
  }
  return { session, first: result };
}

type Settled = PromiseSettledResult<SqlResult>;

/** Ends a transaction that could not be entered. */
async function abandon(session: Session, reason: unknown): Promise<void> {
  if (isConnectionGone(reason) || isUnclean(reason)) {
    session.destroy();
    return;
  }
  await session.send(ROLLBACK).catch(() => {});
  session.release();
}

/** RH004: something outlived an earlier transaction on this connection, so nobody may have it again. */
function isUnclean(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "RH004";
}
