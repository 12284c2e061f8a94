import type { AsyncLocalStorage } from "node:async_hooks";
import { TransactionClosed } from "../errors.ts";
import type { StatementRunner } from "./drizzle-transaction.ts";
import type { SqlResult, SqlStatement } from "./sql-statement.ts";
import type { TenantDb } from "./types.ts";

/** A transaction or a savepoint inside it: the span of statements that one failure undoes. */
export interface Scope {
  readonly parent: Scope | undefined;
  /** False once it has been released or rolled back. */
  isActive: boolean;
  /** Settles when the last savepoint queued in this scope has ended; undefined when none is open. */
  tail: Promise<void> | undefined;
}

export interface SavepointDeps {
  /** Sends a statement in the transaction, which must still be open. */
  send(statement: SqlStatement): Promise<SqlResult>;
  /** Counts a statement of the caller's, as opposed to those that make the savepoints. */
  onQuery(): void;
  /** Remembers work that was called but not sent yet, so that COMMIT waits for it. */
  track<Result>(work: Promise<Result>): Promise<Result>;
  /** @throws TransactionClosed once the transaction takes no more statements */
  assertOpen(): void;
  /** Tells in which savepoint the calling code runs. */
  readonly current: AsyncLocalStorage<Scope>;
  readonly drizzle: (runner: StatementRunner) => TenantDb;
}

const swallow = () => {};

/**
 * Orders the statements of one transaction that may run side by side in the program.
 *
 * PostgreSQL's savepoints form a stack, so while one is open, whatever arrives on the connection belongs to it and is
 * undone with it. Therefore savepoints of one scope run one after another, and a statement from outside waits until the
 * open one has ended. Code inside a savepoint that uses the outer `db` is inside all the same: it must not wait for
 * itself.
 */
export function createSavepoints(deps: SavepointDeps) {
  let counter = 0;
  const root: Scope = { parent: undefined, isActive: true, tail: undefined };

  /** The innermost open scope that the caller runs in, if that lies within `scope`; else `scope` itself. */
  function place(scope: Scope): Scope {
    let innermost: Scope | undefined;
    for (let at = deps.current.getStore(); at; at = at.parent) {
      if (at === scope) return innermost ?? scope;
      if (at.isActive) innermost ??= at;
    }
    return scope;
  }

  function assertUsable(scope: Scope): void {
    deps.assertOpen();
    if (scope.isActive) return;
    throw new TransactionClosed(
      "This savepoint has ended, so it takes no more statements. Await every query inside its callback.",
    );
  }

  async function query(scope: Scope, statement: SqlStatement): Promise<SqlResult> {
    assertUsable(scope);
    deps.onQuery();
    const at = place(scope);
    if (!at.tail) return deps.send(statement);
    return deps.track(whenQuiet(at).then(() => deps.send(statement)));
  }

  /** Waits until no savepoint is open in the scope: others may have been queued meanwhile. */
  async function whenQuiet(scope: Scope): Promise<void> {
    while (scope.tail) await scope.tail;
  }

  async function savepoint<Result>(scope: Scope, work: (db: TenantDb) => Promise<Result>): Promise<Result> {
    assertUsable(scope);
    const at = place(scope);
    const result = (at.tail ?? Promise.resolve()).then(() => runSavepoint(at, work));
    const tail: Promise<void> = result.then(swallow, swallow).then(() => {
      if (at.tail === tail) at.tail = undefined;
    });
    at.tail = tail;
    return deps.track(result);
  }

  async function runSavepoint<Result>(parent: Scope, work: (db: TenantDb) => Promise<Result>): Promise<Result> {
    // Unique within the transaction: Drizzle's own names repeat by depth.
    const name = `sp_${++counter}`;
    const scope: Scope = { parent, isActive: true, tail: undefined };
    await deps.send({ text: `savepoint ${name}` });
    let result: Result;
    try {
      result = await deps.current.run(scope, () => work(deps.drizzle(runner(scope))));
      await whenQuiet(scope);
    } catch (error) {
      await whenQuiet(scope);
      scope.isActive = false;
      // If this fails the connection is gone, and the error at hand tells more.
      await deps
        .send({ text: `rollback to savepoint ${name}` })
        .then(() => deps.send({ text: `release savepoint ${name}` }))
        .catch(swallow);
      throw error;
    }
    scope.isActive = false;
    await deps.send({ text: `release savepoint ${name}` });
    return result;
  }

  const runner = (scope: Scope): StatementRunner => ({
    query: (statement) => query(scope, statement),
    savepoint: (work) => savepoint(scope, work),
  });

  return runner(root);
}
