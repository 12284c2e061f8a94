import type { SqlStatement } from "./sql-statement.ts";

/** A call of one of the framework's own functions and nothing else: those leave nothing behind. */
const FRAMEWORK_CALL = /^select (?:\* from )?rowhouse\.\w+\((?:\$\d+(?:::\w+)?(?:, )?)*\)$/;

/** Functions through which even a query builder's statement reaches the session. */
const REACHES_SESSION = /\b(?:set_config|pg_(?:try_)?advisory_lock(?:_shared)?)\s*\(/i;

/**
 * True for a statement that may leave something in the session which outlives the transaction: a setting, a prepared
 * statement, a held cursor, a session's lock. Freely written SQL may do anything; what Drizzle's builders write may not,
 * but for a few functions that a fragment of SQL can call.
 */
export function mayLeaveTraces({ text, isFree }: SqlStatement): boolean {
  return isFree ? !FRAMEWORK_CALL.test(text) : REACHES_SESSION.test(text);
}
