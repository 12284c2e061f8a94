import { AsyncLocalStorage } from "node:async_hooks";
import { UnsafeRole } from "../errors.ts";
import { sql } from "../generated/sql.ts";
import { createDrizzleFactory } from "./drizzle-transaction.ts";
import { createPool } from "./pool.ts";
import type { SqlStatement } from "./sql-statement.ts";
import type { Scope } from "./savepoints.ts";
import { fromDatabaseError, isConnectionGone } from "./sql-state.ts";
import { createStatementNames } from "./statement-names.ts";
import { createTenantLimit } from "./tenant-limit.ts";
import { openTenantTransaction, type TransactionDeps } from "./tenant-transaction.ts";
import type { Database, LookupName, TenantRef } from "./types.ts";

export interface DatabaseOptions {
  /** The app role's connection URL. */
  readonly url: string;
  /** Connections at the most. */
  readonly poolSize: number;
  /** Transactions that one tenant may hold at once in this process; below `poolSize`, or one tenant takes it all. */
  readonly tenantLimit: number;
  /** False behind a pooler that does not keep prepared statements apart (PgBouncer before 1.21). */
  readonly preparedStatements: boolean;
  readonly applicationName: string;
  /** How long the server may say nothing while somebody waits for it, in milliseconds. @defaultValue 60,000 */
  readonly silenceTimeout?: number;
  /** Rejects for a tenant whose schema is older than the code. @defaultValue nobody is refused */
  readonly admit?: (tenant: TenantRef) => Promise<void> | undefined;
  /** Told after each commit of a transaction that has put jobs into the queue. @defaultValue nobody is told */
  readonly onEnqueued?: () => void;
  /** Told of errors that nobody awaits: broken idle connections, failed afterCommit hooks. */
  readonly onError: (error: unknown) => void;
}

/** Opens one application database. No connection is made before the first query. */
export function createDatabase(options: DatabaseOptions): Database {
  const pool = createPool({ ...options, size: options.poolSize });
  const names = createStatementNames(options.preparedStatements);
  const staleListeners: ((tenantId: string) => void)[] = [];
  const deps: TransactionDeps = {
    pool,
    names,
    limit: createTenantLimit(options.tenantLimit),
    savepoints: new AsyncLocalStorage<Scope>(),
    drizzle: createDrizzleFactory(),
    admit: options.admit ?? (() => undefined),
    locate: (tenantId) => lookup<TenantRef>("find_tenant_by_id", [tenantId]),
    onStaleTenant: (tenantId) => staleListeners.forEach((listener) => listener(tenantId)),
    onEnqueued: options.onEnqueued ?? (() => {}),
    onError: options.onError,
  };

  /** Runs one statement outside any transaction, and once more when the pooled connection turned out to be dead. */
  async function ask(statement: SqlStatement, isLast = false): Promise<unknown[]> {
    const session = await pool.acquire();
    try {
      const { result } = await session.send(names.name(statement, session, "lookup"));
      session.release();
      return result.rows;
    } catch (error) {
      session.destroy();
      if (!isLast && isConnectionGone(error)) return ask(statement, true);
      throw fromDatabaseError(error, "query");
    }
  }

  async function lookup<Row extends object>(name: LookupName, values: readonly unknown[]): Promise<Row | undefined> {
    const parameters = values.map((_, index) => `$${index + 1}`).join(", ");
    const rows = await ask({ text: `select * from rowhouse.${name}(${parameters})`, values });
    return rows[0] as Row | undefined;
  }

  return {
    open: (tenant, transactionOptions) => openTenantTransaction(deps, tenant, transactionOptions),
    whenStale: (listener) => void staleListeners.push(listener),
    lookup,
    async assertSafeRole() {
      const rows = (await ask({ text: sql["db/queries/unsafe_role.sql"] })) as { reason: string }[];
      if (rows.length === 0) return;
      const reasons = rows.map((row) => row.reason).join("; ");
      throw new UnsafeRole(
        `DATABASE_URL's role could walk past row-level security: ${reasons}. ` +
          "Run `rowhouse init-database` and use the app role that it makes.",
      );
    },
    async notify(channel) {
      await ask({ text: "select pg_catalog.pg_notify($1, '')", values: [channel] });
    },
    async ping() {
      await ask({ text: "select 1" });
    },
    close: () => pool.end(),
  };
}
