import pg from "pg";
import {
  CheckViolation,
  ConnectionLost,
  DatabaseUnavailable,
  DataInvalid,
  ForeignKeyViolation,
  JobLeaseLost,
  LockTimeout,
  PermissionDenied,
  PlacementChanged,
  QueryFailed,
  ReadOnlyTransaction,
  RowhouseError,
  SchemaChanged,
  StatementTimeout,
  TenantBusy,
  TenantNotFound,
  TenantRequired,
  TenantSuspended,
  TransactionAborted,
  TransactionConflict,
  UniqueViolation,
  WorkerLost,
} from "../errors.ts";

/** What the program was doing when the database refused: it decides what a broken connection means. */
export type DatabaseAction = "connect" | "enter" | "query";

type Translate = (error: pg.DatabaseError, action: DatabaseAction) => RowhouseError;

const constraint = (error: pg.DatabaseError) => ({ cause: error, constraint: error.constraint, table: error.table });

const unavailable: Translate = (error) =>
  new DatabaseUnavailable(`PostgreSQL does not take connections now (${error.code}). Try again shortly.`, {
    cause: error,
  });

const loginRefused: Translate = (error) =>
  new DatabaseUnavailable(
    "PostgreSQL refused the login. Are the URL's user and password right? `rowhouse init-database` makes the roles.",
    { cause: error },
  );

const lost: Translate = (error) =>
  new ConnectionLost(`PostgreSQL ended the connection (${error.code}). The transaction was rolled back; try again.`, {
    cause: error,
  });

const lockTimeout: Translate = (error, action) =>
  action === "enter"
    ? new TenantBusy("The tenant is being suspended or moved at this moment. Try again shortly.", { cause: error })
    : new LockTimeout("A lock was not granted within lock_timeout. Try again, or look for a long transaction.", {
        cause: error,
      });

const foreignKey: Translate = (error) =>
  new ForeignKeyViolation("A row it refers to does not exist, or is still referred to.", constraint(error));

const dataInvalid: Translate = (error) =>
  new DataInvalid(`The database cannot store a value as given (SQLSTATE ${error.code}).`, { cause: error });

const conflict: Translate = (error) =>
  new TransactionConflict("The transaction collided with another one. Run it again from its start.", { cause: error });

/**
 * SQLSTATE to error. RH… are raised by db/migrations; the others are PostgreSQL's
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const BY_SQLSTATE: Record<string, Translate> = {
  RH001: (error) => new TenantNotFound("There is no such tenant.", { cause: error }),
  RH002: (error) => new TenantSuspended("The tenant is suspended. An operator can resume it.", { cause: error }),
  RH003: (error) => new PlacementChanged("The tenant has just been moved. Try again.", { cause: error }),
  RH005: (error) =>
    new TenantRequired("A job belongs to a tenant: enqueue it in a tenant's transaction.", { cause: error }),
  RH010: (error) =>
    new JobLeaseLost("The job is another worker's by now, or was cancelled. This attempt is rolled back.", {
      cause: error,
    }),
  RH011: (error) => new WorkerLost("The worker was taken for dead: it gave no sign of life in time.", { cause: error }),
  "23505": (error) => new UniqueViolation("A row with the same unique values exists already.", constraint(error)),
  "23503": foreignKey,
  // PostgreSQL 18 says so of ON DELETE RESTRICT.
  "23001": foreignKey,
  "23514": (error) => new CheckViolation("A value breaks a rule of the table.", constraint(error)),
  "23P01": (error) => new CheckViolation("The row overlaps with an existing one.", constraint(error)),
  "23502": (error) => new DataInvalid(`Column "${error.column ?? "?"}" needs a value.`, { cause: error }),
  "25006": (error) =>
    new ReadOnlyTransaction(
      'The transaction is READ ONLY, as GET and HEAD are by default. Give the route `transaction: "read write"`.',
      { cause: error },
    ),
  "25P02": (error) =>
    new TransactionAborted("An earlier statement of this transaction failed, so the database refuses the rest.", {
      cause: error,
    }),
  // Raised when idle_in_transaction_session_timeout or transaction_timeout ends the session.
  "25P03": lost,
  "25P04": lost,
  "40001": conflict,
  "40P01": conflict,
  "42501": (error) =>
    new PermissionDenied(
      "The application's role may not do this. A new table is reachable only after `rowhouse migrate` has secured it.",
      { cause: error },
    ),
  "55P03": lockTimeout,
  "57014": (error) =>
    new StatementTimeout("The statement was cancelled, most likely by statement_timeout.", { cause: error }),
  "57P01": lost,
  "57P02": lost,
  "28000": loginRefused,
  "28P01": loginRefused,
  "3D000": (error) =>
    new DatabaseUnavailable("There is no such database. `rowhouse init-database` makes it.", { cause: error }),
  "57P03": unavailable,
  "53300": unavailable,
};

const CACHED_PLAN = "cached plan must not change result type";

/** True when a migration invalidated a prepared statement's result type (SQLSTATE 0A000, known by its message only). */
export function isCachedPlanChanged(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "0A000" && error.message.includes(CACHED_PLAN);
}

/** True when the server answered: the connection itself works. */
function isServerAnswer(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code !== undefined;
}

/** What pg says when there is no connection any more; it has no codes for these. */
const DRIVER_FAREWELLS = [
  "Connection terminated",
  "Client has encountered a connection error",
  "Client was closed",
  "Query read timeout",
];

/** True when the error means that the connection is no more: a broken socket, or the server's farewell. */
export function isConnectionGone(error: unknown): boolean {
  if (isServerAnswer(error)) {
    const code = error.code ?? "";
    return code.startsWith("08") || code.startsWith("57P0") || code === "25P03" || code === "25P04";
  }
  if (!(error instanceof Error)) return false;
  // ECONNRESET, EPIPE and the like; not Node's own ERR_…, which are about the values that were given.
  const isSystemError = "code" in error && /^E(?!RR_)[A-Z]+$/.test(String(error.code));
  return isSystemError || DRIVER_FAREWELLS.some((farewell) => error.message.startsWith(farewell));
}

/**
 * Turns whatever the driver threw into one of Rowhouse's errors, with the driver's own as `cause`.
 * Messages carry no values of rows: those stay in the cause, for the log.
 */
export function fromDatabaseError(error: unknown, action: DatabaseAction): RowhouseError {
  if (error instanceof RowhouseError) return error;
  if (!isServerAnswer(error)) {
    if (action === "connect") {
      return new DatabaseUnavailable("PostgreSQL does not answer. Is it running, and is the URL right?", {
        cause: error,
      });
    }
    if (isConnectionGone(error)) {
      return new ConnectionLost("The connection to PostgreSQL was lost. The transaction was rolled back; try again.", {
        cause: error,
      });
    }
    return new QueryFailed("The statement could not be sent: one of its values has no form in SQL.", { cause: error });
  }
  const code = error.code ?? "";
  if (isCachedPlanChanged(error)) {
    return new SchemaChanged("A migration changed this query's result meanwhile. Try again.", { cause: error });
  }
  const known = BY_SQLSTATE[code];
  if (known) return known(error, action);
  if (code.startsWith("22")) return dataInvalid(error, action);
  if (code.startsWith("08")) return lost(error, action);
  if (action === "connect") return unavailable(error, action);
  return new QueryFailed(`PostgreSQL refused the statement (SQLSTATE ${code}).`, { cause: error });
}
