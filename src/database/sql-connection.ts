import pg from "pg";
import { fromDatabaseError } from "./sql-state.ts";

/** A plain connection for provisioning, migrations, checks and lifecycle work: never for serving a tenant's request. */
export interface SqlConnection extends AsyncDisposable {
  /** Runs one statement with bound parameters, or several without. Errors are Rowhouse's own, the driver's is `cause`. */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
  end(): Promise<void>;
}

/** A server that is not there may swallow the attempt without a word, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects with one URL and nothing else: no pool, no tenant.
 *
 * @param url a PostgreSQL connection URL
 * @param applicationName what `pg_stat_activity` shows
 * @throws DatabaseUnavailable when the server does not answer
 */
export async function connectSql(url: string, applicationName: string): Promise<SqlConnection> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // Without a listener a lost connection would end the process; the next query reports it.
  client.on("error", () => {});
  await client.connect().catch((error: unknown) => {
    throw fromDatabaseError(error, "connect");
  });
  const end = () => client.end();
  return {
    async query<Row extends object>(text: string, values?: readonly unknown[]) {
      try {
        const result = await client.query<Row>(text, values === undefined ? undefined : [...values]);
        return { rows: result.rows, rowCount: result.rowCount ?? 0 };
      } catch (error) {
        throw fromDatabaseError(error, "query");
      }
    },
    end,
    [Symbol.asyncDispose]: end,
  };
}
