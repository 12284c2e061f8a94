import { DrizzleQueryError } from "drizzle-orm/errors";
import { z } from "zod";
import {
  BodyTooLarge,
  Forbidden,
  type FieldProblem,
  InternalError,
  MediaTypeUnsupported,
  RequestInvalid,
  ResourceNotFound,
  RetryableError,
  RowhouseError,
  type RowhouseErrorCode,
  Unauthenticated,
} from "../errors.ts";

/** A problem document (RFC 9457). Without `instance`: it would tell apart what has to look the same. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: RowhouseErrorCode;
  readonly detail?: string;
  readonly requestId?: string;
  /** What is wrong with which value of the request. */
  readonly errors?: readonly FieldProblem[];
}

type Row = readonly [status: number, title: string];

const INTERNAL: Row = [500, "Internal error"];
const UNAVAILABLE: Row = [503, "Service unavailable"];
// Another tenant's resource, a missing one and an unknown tenant are one and the same answer.
const NOT_FOUND: Row = [404, "Not found"];

/** The only place that knows HTTP statuses. 500 for what is the program's own fault: its message stays in the log. */
const ANSWERS: Record<RowhouseErrorCode, Row> = {
  ERR_CONFIG_INVALID: INTERNAL,
  ERR_UNSAFE_ROLE: INTERNAL,
  ERR_DEFINITION_INVALID: INTERNAL,
  ERR_EMBEDDED_POSTGRES_FAILED: INTERNAL,
  ERR_TENANT_REQUIRED: INTERNAL,
  ERR_TENANT_NOT_FOUND: NOT_FOUND,
  ERR_TENANT_SUSPENDED: [403, "Tenant suspended"],
  ERR_TENANT_MISMATCH: INTERNAL,
  ERR_TENANT_BUSY: UNAVAILABLE,
  ERR_PLACEMENT_CHANGED: UNAVAILABLE,
  ERR_TENANT_INVALID: [400, "Invalid tenant"],
  ERR_MOVE_REFUSED: [409, "Move refused"],
  ERR_MOVE_FAILED: INTERNAL,
  ERR_JOB_INVALID: INTERNAL,
  ERR_JOB_TIMEOUT: INTERNAL,
  ERR_JOB_LEASE_LOST: INTERNAL,
  ERR_JOB_INTERRUPTED: INTERNAL,
  ERR_WORKER_LOST: UNAVAILABLE,
  ERR_TRANSACTION_CLOSED: INTERNAL,
  ERR_TRANSACTION_ABORTED: INTERNAL,
  ERR_COMMIT_UNKNOWN: UNAVAILABLE,
  ERR_CONNECTION_LOST: UNAVAILABLE,
  ERR_DATABASE_UNAVAILABLE: UNAVAILABLE,
  ERR_POOL_EXHAUSTED: UNAVAILABLE,
  ERR_STATEMENT_TIMEOUT: UNAVAILABLE,
  ERR_LOCK_TIMEOUT: UNAVAILABLE,
  ERR_TRANSACTION_CONFLICT: UNAVAILABLE,
  ERR_SCHEMA_CHANGED: UNAVAILABLE,
  ERR_READ_ONLY_TRANSACTION: INTERNAL,
  ERR_PERMISSION_DENIED: INTERNAL,
  ERR_UNIQUE_VIOLATION: [409, "Already exists"],
  ERR_FOREIGN_KEY_VIOLATION: [409, "Referenced row missing or in use"],
  ERR_CHECK_VIOLATION: [422, "Rule broken"],
  ERR_DATA_INVALID: [422, "Value not storable"],
  ERR_QUERY_FAILED: INTERNAL,
  ERR_MIGRATION_INVALID: INTERNAL,
  ERR_MIGRATION_FAILED: INTERNAL,
  ERR_MIGRATION_LOCKED: UNAVAILABLE,
  ERR_SCHEMA_OUTDATED: UNAVAILABLE,
  ERR_UNAUTHENTICATED: [401, "Not authenticated"],
  ERR_KEYS_UNAVAILABLE: UNAVAILABLE,
  ERR_FORBIDDEN: [403, "Forbidden"],
  ERR_REQUEST_INVALID: [400, "Invalid request"],
  ERR_NOT_FOUND: NOT_FOUND,
  ERR_METHOD_NOT_ALLOWED: [405, "Method not allowed"],
  ERR_BODY_TOO_LARGE: [413, "Body too large"],
  ERR_MEDIA_TYPE_UNSUPPORTED: [415, "Media type not supported"],
  ERR_IDEMPOTENCY_KEY_REUSED: [422, "Idempotency key reused"],
  ERR_IDEMPOTENCY_IN_FLIGHT: [409, "Request in flight"],
  ERR_INTERNAL: INTERNAL,
};

const NOT_FOUND_DETAIL = "There is no such resource.";
const INTERNAL_DETAIL = "Something went wrong on our side. The request id leads to the reason in the log.";

/** The HTTP status of an error. */
export function statusOf(error: RowhouseError): number {
  return ANSWERS[codeOf(error)][0];
}

function codeOf(error: RowhouseError): RowhouseErrorCode {
  return error.code in ANSWERS ? (error.code as RowhouseErrorCode) : "ERR_INTERNAL";
}

/** The problem document of an error. Nothing in it comes from the database, and 500s say nothing at all. */
export function toProblem(error: RowhouseError, requestId?: string): Problem {
  const code = codeOf(error);
  const [status, title] = ANSWERS[code];
  return {
    // One name for all 404s and one for all 500s: the code of the error could tell what the answer must not.
    ...publicName(status, code),
    title,
    status,
    detail: status === 404 ? NOT_FOUND_DETAIL : status === 500 ? INTERNAL_DETAIL : error.message,
    ...(requestId === undefined ? {} : { requestId }),
    ...(error instanceof RequestInvalid && error.problems.length > 0 ? { errors: error.problems } : {}),
  };
}

function publicName(status: number, code: RowhouseErrorCode): { type: string; code: RowhouseErrorCode } {
  const shown = status === 404 ? "ERR_NOT_FOUND" : status === 500 ? "ERR_INTERNAL" : code;
  return { type: `urn:rowhouse:error:${shown}`, code: shown };
}

/** Seconds for `Retry-After`, where trying again may help. */
export function retryAfterOf(error: RowhouseError): number | undefined {
  return error instanceof RetryableError ? error.retryAfter : undefined;
}

/** What express and its body parser throw: an error with a `type` or a `status`. */
interface HttpError {
  readonly type?: unknown;
  readonly status?: unknown;
  readonly limit?: unknown;
}

/** Turns whatever was thrown into one of Rowhouse's errors, the original as `cause`. */
export function toRowhouseError(thrown: unknown): RowhouseError {
  if (thrown instanceof RowhouseError) return thrown;
  if (thrown instanceof DrizzleQueryError && thrown.cause instanceof RowhouseError) return thrown.cause;
  if (thrown instanceof z.ZodError) return fromZodError(thrown, "value");
  if (thrown instanceof URIError) {
    return new RequestInvalid("The path holds a malformed percent-encoding.", { cause: thrown });
  }
  if (thrown instanceof Error) return fromHttpError(thrown, thrown as HttpError);
  return new InternalError("Something that is no Error was thrown.", { cause: thrown });
}

function fromHttpError(cause: Error, { type, status, limit }: HttpError): RowhouseError {
  switch (type) {
    case "entity.too.large":
      return new BodyTooLarge(`The body is larger than ${String(limit)} bytes.`, { cause });
    case "entity.parse.failed":
      return new RequestInvalid("The body is not valid JSON.", { cause });
    case "charset.unsupported":
    case "encoding.unsupported":
      return new MediaTypeUnsupported("The body's charset or content encoding is not supported.", { cause });
    default:
      if (status === 404) return new ResourceNotFound("There is no such resource.", { cause });
      if (status === 401) return new Unauthenticated(cause.message, { cause });
      if (status === 403) return new Forbidden(cause.message, { cause });
      // Express marks a path that it cannot decode, and a body that was cut short, as the client's fault.
      return typeof status === "number" && status >= 400 && status < 500
        ? new RequestInvalid("The request cannot be read.", { cause })
        : new InternalError(cause.message, { cause });
  }
}

/**
 * The problems zod found, as paths into the request. Messages name what was expected, never the value that was sent.
 * @param root where the value stood: `body`, `query`, `params`
 */
export function fromZodError(error: z.ZodError, root: string): RequestInvalid {
  const problems = error.issues.map((issue) => ({
    path: issue.path.reduce<string>(
      (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${String(key)}`),
      root,
    ),
    message: issue.message,
  }));
  const first = problems[0];
  return new RequestInvalid(`The request is not valid: ${first?.path ?? root}: ${first?.message ?? "invalid"}.`, {
    cause: error,
    problems,
  });
}
