// What an application builds with, grouped by room. No logic here.

export { createRowhouse, type Rowhouse, type RowhouseOptions } from "./rowhouse.ts";

// Tables
export { tenantTable, type TenantTable } from "./tables/tenant-table.ts";
export { globalTable, type GlobalTable } from "./tables/global-table.ts";
export { belongsTo, type BelongsToOptions, type OnDelete } from "./tables/belongs-to.ts";
export { conflictTarget } from "./tables/conflict-target.ts";
export { timestamps } from "./tables/columns.ts";
export { idOf } from "./tables/id-of.ts";

// Features and routes
export { defineFeature, type Feature, type FeatureOptions } from "./http/feature.ts";
export type {
  HandlerInput,
  Probe,
  RouteBuilder,
  RouteDefinition,
  RouteOptions,
  TransactionMode,
} from "./http/route-types.ts";
export { created, found, json, noContent, type Reply } from "./http/reply.ts";
export { paginate, pageQuery, type Page, type PaginateOptions } from "./http/paginate.ts";
export { stream } from "./http/stream.ts";
export type { ApiInfo } from "./http/openapi.ts";
export type { RunningServer } from "./http/server.ts";
export { errorHandler } from "./http/error-handler.ts";
export { requestLog } from "./http/request-log.ts";
export { idempotency } from "./http/idempotency.ts";
export { jsonBody } from "./http/app.ts";

// Jobs
export {
  defineJob,
  type EnqueuedJob,
  type EnqueueOptions,
  type JobDefinition,
  type JobInput,
  type JobOptions,
  type JobPriority,
} from "./jobs/define-job.ts";
export type { Backoff } from "./jobs/backoff.ts";
export type { JobWorker, JobWorkerOptions } from "./jobs/job-worker.ts";
export { maintainJobHistory, type HistoryOptions, type HistoryReport } from "./jobs/job-history.ts";
export {
  cancelJobs,
  controlJobs,
  discardDeadJobs,
  jobStats,
  listJobs,
  retryDeadJobs,
  showJob,
  type DeadJobs,
  type JobControl,
  type JobDetails,
  type JobFilter,
  type JobState,
  type JobStats,
  type ListedJob,
} from "./jobs/operate-jobs.ts";

// Who the tenant is
export type { Tenant, TenantStatus } from "./tenancy/tenant.ts";
export type { Resolution, ResolverLookups, ResolverRequest, TenantClaim, TenantResolver } from "./tenancy/resolver.ts";
export { jwtClaim } from "./tenancy/resolvers/jwt-claim.ts";
export { apiKey } from "./tenancy/resolvers/api-key.ts";
export { subdomain } from "./tenancy/resolvers/subdomain.ts";
export { customDomain } from "./tenancy/resolvers/custom-domain.ts";
export type { WithTenant } from "./tenancy/with-tenant.ts";
export type { Principal } from "./auth/principal.ts";
export { createTokenVerifier, type TokenVerifier, type VerifiedToken } from "./auth/verify-token.ts";
export { signToken } from "./auth/sign-token.ts";
export { sharedTokens, type SharedTokens } from "./auth/development-tokens.ts";

// The database
export type { Placement, TenantDb, TransactionOptions } from "./database/types.ts";
export { openServers, type Servers } from "./database/servers.ts";
export { initDatabase, type InitDatabaseOptions } from "./migrations/init-database.ts";
export { migrate, type MigrateOptions, type MigrationReport } from "./migrations/migrate.ts";
export type { Only as MigrateOnly, TargetReport } from "./migrations/campaign.ts";
export { migrationStatus, type TargetStatus } from "./migrations/migration-status.ts";
export type { MigrationFolder } from "./migrations/migration-files.ts";

export { prepareDatabase, type PrepareOptions } from "./lifecycle/prepare-database.ts";

// Tenants, as operators handle them
export type { ProvisionOptions } from "./lifecycle/provision-schema.ts";
export {
  createDedicatedTenant,
  createTenant,
  findTenant,
  listTenants,
  resumeTenant,
  suspendTenant,
  type NewTenant,
  type TenantRecord,
} from "./lifecycle/tenants.ts";
export {
  moveTenant,
  planTenantMove,
  type MoveOptions,
  type MoveReport,
  type MoveStep,
} from "./lifecycle/move/move-tenant.ts";
export type { MoveDestination, MovePlan } from "./lifecycle/move/plan-move.ts";
export type { MovedTable } from "./lifecycle/move/move-rows.ts";
export {
  advisePlacement,
  type AdvisedTable,
  type AdviseOptions,
  type PlacementAdvice,
  type TenantAdvice,
} from "./lifecycle/advise-placement.ts";
export {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  type ApiKeyRecord,
  type NewApiKeyOptions,
} from "./lifecycle/api-keys.ts";
export { connectSql, type SqlConnection } from "./database/sql-connection.ts";

// Configuration
export { readConfig, requireUrl, type Config, type ServerUrls, type TokenConfig } from "./config.ts";

// Errors
export {
  BodyTooLarge,
  CheckViolation,
  CommitUnknown,
  ConfigInvalid,
  ConnectionLost,
  ConstraintViolation,
  DataInvalid,
  DatabaseUnavailable,
  DefinitionInvalid,
  EmbeddedPostgresFailed,
  Forbidden,
  ForeignKeyViolation,
  IdempotencyInFlight,
  IdempotencyKeyReused,
  InternalError,
  JobInterrupted,
  JobInvalid,
  JobLeaseLost,
  JobTimeout,
  KeysUnavailable,
  LockTimeout,
  MediaTypeUnsupported,
  MethodNotAllowed,
  MigrationFailed,
  MigrationInvalid,
  MigrationLocked,
  MoveFailed,
  MoveRefused,
  PermissionDenied,
  PlacementChanged,
  PoolExhausted,
  QueryFailed,
  ReadOnlyTransaction,
  RequestInvalid,
  ResourceNotFound,
  RetryableError,
  RowhouseError,
  SchemaChanged,
  SchemaOutdated,
  StatementTimeout,
  TenantBusy,
  TenantInvalid,
  TenantMismatch,
  TenantNotFound,
  TenantRequired,
  TenantSuspended,
  TransactionAborted,
  TransactionClosed,
  TransactionConflict,
  Unauthenticated,
  UniqueViolation,
  UnsafeRole,
  WorkerLost,
  type FieldProblem,
  type RowhouseErrorCode,
} from "./errors.ts";
