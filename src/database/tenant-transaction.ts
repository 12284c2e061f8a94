import type { AsyncLocalStorage } from "node:async_hooks";
import { CommitUnknown, ConnectionLost, TransactionAborted, TransactionClosed } from "../errors.ts";
import type { StatementRunner } from "./drizzle-transaction.ts";
import { type Begun, type Flight, type FlightDeps, statementKey, takeOff } from "./first-flight.ts";
import type { SqlAnswer, SqlResult, SqlStatement } from "./sql-statement.ts";
import type { Session } from "./pool.ts";
import { mayLeaveTraces } from "./session-traces.ts";
import { createSavepoints, type Scope } from "./savepoints.ts";
import { fromDatabaseError, isCachedPlanChanged, isConnectionGone } from "./sql-state.ts";
import type { TenantDb, TenantRef, TenantTransaction, TransactionOptions } from "./types.ts";

export interface TransactionDeps extends FlightDeps {
  readonly savepoints: AsyncLocalStorage<Scope>;
  readonly drizzle: (runner: StatementRunner) => TenantDb;
  /** Told after a commit with which jobs went into the queue. */
  readonly onEnqueued: () => void;
  /** Told of failures that nobody awaits: those of afterCommit hooks. */
  readonly onError: (error: unknown) => void;
}

/**
 * - `open` takes statements.
 * - `closing` COMMIT was asked for: what was called before still goes out, nothing new is taken.
 * - `ended` the connection is no longer this transaction's.
 */
type Phase = "open" | "closing" | "ended";

const swallow = () => {};

/** The call with which jobs/define-job.ts puts jobs into the queue. */
const ENQUEUE = "select * from rowhouse.enqueue_jobs(";

/**
 * Opens a tenant's transaction: the heart of Rowhouse. See {@link TenantTransaction} for what it promises.
 * Only this file sends BEGIN (through first-flight.ts), COMMIT and ROLLBACK for tenants.
 */
export function openTenantTransaction(
  deps: TransactionDeps,
  tenant: TenantRef,
  options: TransactionOptions = {},
): TenantTransaction {
  let phase: Phase = "open";
  let flight: Promise<Flight> | undefined;
  let begun: Begun | undefined;
  let ending: Promise<void> | undefined;
  let queryCount = 0;
  /** Why the database refused the first statement that it refused: the reason behind a COMMIT answered by ROLLBACK. */
  let firstFailure: unknown;
  /** Set once the caller's own SQL has ended the transaction: the connection is not given back then. */
  let escaped: TransactionClosed | undefined;
  /** Set once a statement may have left something in the session: it is cleared before anyone else gets it. */
  let hasTraces = false;
  let hasEnqueued = false;
  let isGivenBack = false;
  const pending = new Set<Promise<unknown>>();
  const hooks: (() => void | Promise<void>)[] = [];

  const closed = (cause?: unknown) =>
    new TransactionClosed(
      "The transaction has ended, so it takes no more statements. Await every query before the response is sent or " +
        "the callback returns; open a new transaction with withTenant() for work that comes later.",
      { cause },
    );

  const savepoints = createSavepoints({
    send,
    track,
    onQuery: () => void queryCount++,
    assertOpen() {
      if (phase !== "open") throw closed();
    },
    current: deps.savepoints,
    drizzle: deps.drizzle,
  });

  function track<Result>(work: Promise<Result>): Promise<Result> {
    const settled = () => void pending.delete(work);
    work.then(settled, settled);
    pending.add(work);
    return work;
  }

  async function send(statement: SqlStatement): Promise<SqlResult> {
    // Checked at the very moment of sending: a statement that left later would run in somebody else's transaction.
    if (phase === "ended") throw closed();
    if (!flight) return track(begin(statement));
    if (!begun) return track(flight.then(() => send(statement)));
    if (isGivenBack) throw lostMeanwhile();
    const { session } = begun;
    noteTraces(statement);
    let answer: SqlAnswer;
    try {
      answer = await session.send(deps.names.name(statement, session, statementKey(begun.tenant)));
    } catch (error) {
      firstFailure ??= error;
      if (isCachedPlanChanged(error)) deps.names.renew();
      throw fromDatabaseError(error, "query");
    }
    return stillInside(answer, statement);
  }

  function noteTraces(statement: SqlStatement): void {
    hasTraces ||= mayLeaveTraces(statement);
    hasEnqueued ||= statement.isFree === true && statement.text.startsWith(ENQUEUE);
  }

  /**
   * A COMMIT or ROLLBACK in the caller's own SQL leaves the tenant's transaction: what follows would have no tenant. With
   * AND CHAIN the connection stands in another transaction then, so the command's tag counts as well.
   */
  function stillInside({ result, isOutside }: SqlAnswer, { isFree }: SqlStatement): SqlResult {
    const hasEnded = isFree && (result.command === "COMMIT" || result.command === "ROLLBACK");
    if (!isOutside && !hasEnded) return result;
    escaped ??= new TransactionClosed(
      `The handler's own SQL ended the tenant's transaction (${result.command}). ` +
        "Leave COMMIT and ROLLBACK to Rowhouse; for a part that may fail there is db.transaction().",
    );
    throw escaped;
  }

  async function begin(statement: SqlStatement): Promise<SqlResult> {
    noteTraces(statement);
    flight = takeOff(deps, tenant, options, statement, () => phase !== "ended");
    const { first, ...rest } = await flight;
    begun = rest;
    const { session, leave } = rest;
    session.whenLost(() => {
      // The place and the connection go back at once: a handler that never answers must not keep them.
      if (phase === "open") giveBack(session, leave);
    });
    if (first.status === "fulfilled") return stillInside(first.value, statement);
    firstFailure = first.reason;
    throw fromDatabaseError(first.reason, "query");
  }

  async function commit(): Promise<void> {
    phase = "closing";
    while (pending.size > 0) await Promise.allSettled(pending);
    phase = "ended";
    if (flight) {
      // A flight that failed has said so already; whoever swallowed that error learns here that nothing was stored.
      try {
        await flight;
      } catch (cause) {
        throw new TransactionAborted("The transaction could not begin, so nothing was stored.", { cause });
      }
      if (begun) await sendCommit(begun);
      if (hasEnqueued) deps.onEnqueued();
    }
    for (const hook of hooks) {
      try {
        await hook();
      } catch (error) {
        deps.onError(error);
      }
    }
  }

  async function sendCommit({ session, leave }: Begun): Promise<void> {
    try {
      if (escaped) throw escaped;
      if (session.isLost() || isConnectionGone(firstFailure)) throw lostMeanwhile();
      const answer = await commitOn(session);
      if (answer.command !== "COMMIT") {
        throw new TransactionAborted(
          "A statement failed and its error was swallowed, so PostgreSQL rolled everything back. " +
            "Let errors out, or wrap what may fail in db.transaction().",
          { cause: firstFailure },
        );
      }
    } finally {
      giveBack(session, leave);
    }
  }

  async function commitOn(session: Session): Promise<SqlResult> {
    try {
      return await session.command("commit");
    } catch (error) {
      if (!isConnectionGone(error)) throw fromDatabaseError(error, "query");
      throw new CommitUnknown(
        "The connection was lost while COMMIT was under way: it may have been stored or not. " +
          "Repeat the request with the same Idempotency-Key, or look.",
        { cause: error },
      );
    }
  }

  function giveBack(session: Session, leave: () => void): void {
    if (isGivenBack) return;
    isGivenBack = true;
    if (escaped) session.destroy();
    else if (hasTraces) void session.resetAndRelease();
    else session.release();
    leave();
  }

  const lostMeanwhile = () =>
    new ConnectionLost("The connection to PostgreSQL was lost before COMMIT was sent: nothing was stored. Try again.", {
      cause: firstFailure,
    });

  async function rollback(): Promise<void> {
    phase = "ended";
    await flight?.catch(swallow);
    if (!begun) return;
    const { session, leave } = begun;
    if (!escaped && !isGivenBack) await session.command("rollback").catch(swallow);
    giveBack(session, leave);
  }

  let db: TenantDb | undefined;
  let isCommitted = false;

  return {
    get tenant() {
      return begun?.tenant ?? tenant;
    },
    get db() {
      return (db ??= deps.drizzle(savepoints));
    },
    get queryCount() {
      return queryCount;
    },
    get isOpen() {
      return phase === "open";
    },
    afterCommit(hook) {
      if (phase !== "open") throw closed();
      hooks.push(hook);
    },
    savepoint: (work) => savepoints.savepoint(work),
    commit() {
      if (ending) return isCommitted ? ending : ending.then(() => Promise.reject(closed()));
      isCommitted = true;
      return (ending = commit());
    },
    rollback() {
      return (ending ??= rollback()).catch(swallow);
    },
  };
}
