/**
 * Every error Rowhouse raises on purpose. Each class carries a stable `code`, its data, and a message that says
 * what happened, to which value, and the way out. docs/errors.md lists them all; a test compares the two.
 */

export interface ErrorDetails {
  cause?: unknown;
}

/** The base of all errors that Rowhouse raises on purpose. `code` narrows the union {@link RowhouseErrorCode}. */
export abstract class RowhouseError extends Error {
  abstract readonly code: string;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
  }
}

/** An error after which the same call may succeed later; over HTTP it becomes a 503 with `Retry-After`. */
export abstract class RetryableError extends RowhouseError {
  /** How long to wait before trying again, in seconds. */
  readonly retryAfter: number = 1;
}

// Configuration and start-up

export class ConfigInvalid extends RowhouseError {
  readonly code = "ERR_CONFIG_INVALID";
}

/** The application's database role could walk past row-level security, so the process refuses to serve. */
export class UnsafeRole extends RowhouseError {
  readonly code = "ERR_UNSAFE_ROLE";
}

/** A table, feature or route is declared in a way that Rowhouse cannot keep safe. Raised at start-up. */
export class DefinitionInvalid extends RowhouseError {
  readonly code = "ERR_DEFINITION_INVALID";
}

export class EmbeddedPostgresFailed extends RowhouseError {
  readonly code = "ERR_EMBEDDED_POSTGRES_FAILED";
}

// Tenants

/** Code that needs a tenant ran where none was set. */
export class TenantRequired extends RowhouseError {
  readonly code = "ERR_TENANT_REQUIRED";
}

export class TenantNotFound extends RowhouseError {
  readonly code = "ERR_TENANT_NOT_FOUND";
}

export class TenantSuspended extends RowhouseError {
  readonly code = "ERR_TENANT_SUSPENDED";
}

/** A tenant transaction is open for one tenant and the code inside asked for another. */
export class TenantMismatch extends RowhouseError {
  readonly code = "ERR_TENANT_MISMATCH";
}

/** The tenant holds as many transactions as it may, or is being moved or suspended at this moment. */
export class TenantBusy extends RetryableError {
  readonly code = "ERR_TENANT_BUSY";
}

/** The tenant's rows moved between the moment this process looked up its placement and the transaction. */
export class PlacementChanged extends RetryableError {
  readonly code = "ERR_PLACEMENT_CHANGED";
}

export class TenantInvalid extends RowhouseError {
  readonly code = "ERR_TENANT_INVALID";
}

/** A tenant cannot be moved as things are; the message lists what has to be put right first. */
export class MoveRefused extends RowhouseError {
  readonly code = "ERR_MOVE_REFUSED";
}

/** A tenant's rows were not the same where they came from and where they went to, so nothing was moved. */
export class MoveFailed extends RowhouseError {
  readonly code = "ERR_MOVE_FAILED";
}

// Jobs

/** A job's payload or one of its options is not as it has to be. */
export class JobInvalid extends RowhouseError {
  readonly code = "ERR_JOB_INVALID";
}

/** An attempt took longer than the job's timeout. */
export class JobTimeout extends RowhouseError {
  readonly code = "ERR_JOB_TIMEOUT";
}

/** The job is somebody else's by now, or was cancelled: what this attempt has written is rolled back. */
export class JobLeaseLost extends RowhouseError {
  readonly code = "ERR_JOB_LEASE_LOST";
}

/** The worker stops before the job has ended: it will run again, and no attempt is counted. */
export class JobInterrupted extends RowhouseError {
  readonly code = "ERR_JOB_INTERRUPTED";
}

/** The worker gave no sign of life in time and was taken for dead: what it held went to others. */
export class WorkerLost extends RetryableError {
  readonly code = "ERR_WORKER_LOST";
}

// The tenant transaction

/** A query was sent on a transaction that has ended. */
export class TransactionClosed extends RowhouseError {
  readonly code = "ERR_TRANSACTION_CLOSED";
}

/** COMMIT was answered with ROLLBACK: a statement inside had failed and its error was swallowed. Nothing was stored. */
export class TransactionAborted extends RowhouseError {
  readonly code = "ERR_TRANSACTION_ABORTED";
}

/** The connection was lost while COMMIT was under way: the writes are stored or not, and only a look can tell. */
export class CommitUnknown extends RetryableError {
  readonly code = "ERR_COMMIT_UNKNOWN";
}

export class ConnectionLost extends RetryableError {
  readonly code = "ERR_CONNECTION_LOST";
}

export class DatabaseUnavailable extends RetryableError {
  readonly code = "ERR_DATABASE_UNAVAILABLE";
}

export class PoolExhausted extends RetryableError {
  readonly code = "ERR_POOL_EXHAUSTED";
}

export class StatementTimeout extends RetryableError {
  readonly code = "ERR_STATEMENT_TIMEOUT";
}

export class LockTimeout extends RetryableError {
  readonly code = "ERR_LOCK_TIMEOUT";
}

/** Two transactions got in each other's way (deadlock, serialization failure): run the whole transaction again. */
export class TransactionConflict extends RetryableError {
  readonly code = "ERR_TRANSACTION_CONFLICT";
}

/** A migration changed the result of a prepared statement in the middle of a transaction. */
export class SchemaChanged extends RetryableError {
  readonly code = "ERR_SCHEMA_CHANGED";
}

/** A READ ONLY transaction (GET and HEAD by default) tried to write. */
export class ReadOnlyTransaction extends RowhouseError {
  readonly code = "ERR_READ_ONLY_TRANSACTION";
}

export class PermissionDenied extends RowhouseError {
  readonly code = "ERR_PERMISSION_DENIED";
}

interface ConstraintDetails extends ErrorDetails {
  constraint: string | undefined;
  table: string | undefined;
}

/** A constraint refused the data. Carries the constraint's name, never the values it compared. */
export abstract class ConstraintViolation extends RowhouseError {
  readonly constraint: string | undefined;
  readonly table: string | undefined;

  constructor(message: string, details: ConstraintDetails) {
    super(message, details);
    this.constraint = details.constraint;
    this.table = details.table;
  }
}

export class UniqueViolation extends ConstraintViolation {
  readonly code = "ERR_UNIQUE_VIOLATION";
}

export class ForeignKeyViolation extends ConstraintViolation {
  readonly code = "ERR_FOREIGN_KEY_VIOLATION";
}

export class CheckViolation extends ConstraintViolation {
  readonly code = "ERR_CHECK_VIOLATION";
}

/** The database could not take a value: wrong format, out of range, too long, missing. */
export class DataInvalid extends RowhouseError {
  readonly code = "ERR_DATA_INVALID";
}

/** The database refused a statement for a reason that is the program's fault. */
export class QueryFailed extends RowhouseError {
  readonly code = "ERR_QUERY_FAILED";
}

// Migrations

/** A migration file that has been applied was edited afterwards, or cannot be read as one. */
export class MigrationInvalid extends RowhouseError {
  readonly code = "ERR_MIGRATION_INVALID";
}

export class MigrationFailed extends RowhouseError {
  readonly code = "ERR_MIGRATION_FAILED";
}

/** Another runner holds the migration lock for longer than this one was willing to wait. */
export class MigrationLocked extends RetryableError {
  readonly code = "ERR_MIGRATION_LOCKED";
}

/** The database's schema is not the one this code was written for. */
export class SchemaOutdated extends RetryableError {
  readonly code = "ERR_SCHEMA_OUTDATED";
}

// Who calls

/** The caller did not prove who it is: no credentials, or ones that are malformed, expired or revoked. */
export class Unauthenticated extends RowhouseError {
  readonly code = "ERR_UNAUTHENTICATED";
}

/** The keys that tokens are checked against could not be fetched: nobody can be let in for now. */
export class KeysUnavailable extends RetryableError {
  readonly code = "ERR_KEYS_UNAVAILABLE";
}

export class Forbidden extends RowhouseError {
  readonly code = "ERR_FORBIDDEN";
}

// HTTP

export interface FieldProblem {
  /** Where the value stands: `body.lines[0].quantity`. */
  path: string;
  message: string;
}

export class RequestInvalid extends RowhouseError {
  readonly code = "ERR_REQUEST_INVALID";
  readonly problems: readonly FieldProblem[];

  constructor(message: string, details: ErrorDetails & { problems?: readonly FieldProblem[] } = {}) {
    super(message, details);
    this.problems = details.problems ?? [];
  }
}

export class ResourceNotFound extends RowhouseError {
  readonly code = "ERR_NOT_FOUND";
}

export class MethodNotAllowed extends RowhouseError {
  readonly code = "ERR_METHOD_NOT_ALLOWED";
  /** What the path takes instead. */
  readonly allow: readonly string[];

  constructor(message: string, details: ErrorDetails & { allow?: readonly string[] } = {}) {
    super(message, details);
    this.allow = details.allow ?? [];
  }
}

export class BodyTooLarge extends RowhouseError {
  readonly code = "ERR_BODY_TOO_LARGE";
}

export class MediaTypeUnsupported extends RowhouseError {
  readonly code = "ERR_MEDIA_TYPE_UNSUPPORTED";
}

export class IdempotencyKeyReused extends RowhouseError {
  readonly code = "ERR_IDEMPOTENCY_KEY_REUSED";
}

export class IdempotencyInFlight extends RowhouseError {
  readonly code = "ERR_IDEMPOTENCY_IN_FLIGHT";
}

/** Something Rowhouse did not foresee. The client learns only the request id; the log has the cause. */
export class InternalError extends RowhouseError {
  readonly code = "ERR_INTERNAL";
}

/** The code of every error above, for `switch (error.code)`. */
export type RowhouseErrorCode = (
  | ConfigInvalid
  | UnsafeRole
  | DefinitionInvalid
  | EmbeddedPostgresFailed
  | TenantRequired
  | TenantNotFound
  | TenantSuspended
  | TenantMismatch
  | TenantBusy
  | PlacementChanged
  | TenantInvalid
  | MoveRefused
  | MoveFailed
  | JobInvalid
  | JobTimeout
  | JobLeaseLost
  | JobInterrupted
  | WorkerLost
  | TransactionClosed
  | TransactionAborted
  | CommitUnknown
  | ConnectionLost
  | DatabaseUnavailable
  | PoolExhausted
  | StatementTimeout
  | LockTimeout
  | TransactionConflict
  | SchemaChanged
  | ReadOnlyTransaction
  | PermissionDenied
  | UniqueViolation
  | ForeignKeyViolation
  | CheckViolation
  | DataInvalid
  | QueryFailed
  | MigrationInvalid
  | MigrationFailed
  | MigrationLocked
  | SchemaOutdated
  | Unauthenticated
  | KeysUnavailable
  | Forbidden
  | RequestInvalid
  | ResourceNotFound
  | MethodNotAllowed
  | BodyTooLarge
  | MediaTypeUnsupported
  | IdempotencyKeyReused
  | IdempotencyInFlight
  | InternalError
)["code"];
