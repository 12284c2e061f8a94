import type { NodePgQueryResultHKT } from "drizzle-orm/node-postgres";
import type { PgTransaction } from "drizzle-orm/pg-core";

/** Where a tenant's rows live. */
export type Placement = "shared" | "schema" | "database";

/** What the database needs to know of a tenant to open its transaction. */
export interface TenantRef {
  /** The tenant's UUID. */
  readonly id: string;
  readonly placement: Placement;
  /** Raised by one at each move; `rowhouse.enter()` refuses a transaction that believes in another. */
  readonly epoch: number;
}

type NoSchema = Record<string, never>;

/** The Drizzle transaction that handlers get: one tenant's rows, and nothing else. */
export type TenantDb = PgTransaction<NodePgQueryResultHKT, NoSchema, NoSchema>;

export interface TransactionOptions {
  /** Begin READ ONLY: a write is refused by the database. */
  readonly readOnly?: boolean;
}

/**
 * One tenant's transaction. Nothing is sent before the first query; then BEGIN, `rowhouse.enter()` and that query
 * travel in one flight.
 */
export interface TenantTransaction {
  /** Once begun, as `enter()` has accepted it: a tenant that was moved meanwhile is followed to its new place. */
  readonly tenant: TenantRef;
  readonly db: TenantDb;
  /** Statements the caller sent so far (BEGIN, enter and COMMIT are not counted). */
  readonly queryCount: number;
  /** False once commit or rollback has begun: a further query is refused with ERR_TRANSACTION_CLOSED. */
  readonly isOpen: boolean;
  /** Runs the hook after COMMIT has been answered; never after a rollback. Its failure is reported, not thrown. */
  afterCommit(hook: () => void | Promise<void>): void;
  /**
   * Runs `work` in a savepoint, after the siblings that were called before it: its failure undoes its own writes only.
   */
  savepoint<Result>(work: (db: TenantDb) => Promise<Result>): Promise<Result>;
  /**
   * Sends COMMIT (if anything was begun) and waits for its answer.
   * @throws TransactionAborted when PostgreSQL answered ROLLBACK
   * @throws CommitUnknown when the connection was lost meanwhile
   */
  commit(): Promise<void>;
  /** Ends the transaction without storing anything. Never throws; safe to call at any time, also twice. */
  rollback(): Promise<void>;
}

/** The framework's narrow SECURITY DEFINER functions that run before a tenant is known; each returns at most one row. */
export type LookupName =
  "find_tenant_by_id" | "find_tenant_by_slug" | "find_tenant_by_domain" | "find_api_key" | "missing_migrations";

/** One application database: its pool is private, and the tenant transaction is the only way to rows. */
export interface Database {
  /** Opens a transaction of the tenant, lazily. The caller must end it with commit() or rollback(). */
  open(tenant: TenantRef, options?: TransactionOptions): TenantTransaction;
  /** Calls the listener with each tenant that is suspended, moved or gone, against what its {@link TenantRef} says. */
  whenStale(listener: (tenantId: string) => void): void;
  /** Calls `rowhouse.<name>(…)`. @returns the row, or undefined */
  lookup<Row extends object>(name: LookupName, values: readonly unknown[]): Promise<Row | undefined>;
  /**
   * Refuses a role that could walk past row-level security.
   * @throws UnsafeRole
   */
  assertSafeRole(): Promise<void>;
  /** Wakes whoever listens on the channel: outside any tenant's transaction, since NOTIFY makes commits wait for each other. */
  notify(channel: string): Promise<void>;
  /** Resolves when the database answers. @throws DatabaseUnavailable */
  ping(): Promise<void>;
  /** Waits for open transactions, then closes the connections. */
  close(): Promise<void>;
}
