import pg from "pg";
import { PoolExhausted } from "../errors.ts";
import { type FlightOutcome, type PipelinedClient, type PreambleStatement, sendFlight } from "./flight-query.ts";
import { fromDatabaseError } from "./sql-state.ts";
import type { SqlAnswer, SqlResult, SqlStatement } from "./sql-statement.ts";

/** One connection, lent. Statements are sent at once, without waiting for the answers of those before (pipelining). */
export interface Session {
  /** The driver's own errors come out raw: only the transaction knows what they mean. */
  send(statement: SqlStatement): Promise<SqlAnswer>;
  /** Sends one of the transaction's own commands (COMMIT, SAVEPOINT …), in the shortest form there is. */
  command(text: string): Promise<SqlResult>;
  /** Sends statements nobody reads and the one behind them together; that one runs only if all before it did. */
  sendFlight(preamble: readonly PreambleStatement[], statement: SqlStatement): Promise<FlightOutcome>;
  /** True once the connection is known to be gone. */
  isLost(): boolean;
  /** The names of the statements that were prepared on this connection. */
  readonly statements: Set<string>;
  /** Gives the connection back if it stands outside any transaction, and destroys it otherwise. */
  release(): void;
  /** Closes the connection instead of giving it back. */
  destroy(): void;
}

export interface PoolOptions {
  readonly url: string;
  /** Connections at the most. */
  readonly size: number;
  readonly applicationName: string;
  /** Called for errors of idle connections, which nobody awaits. */
  readonly onError: (error: unknown) => void;
}

export interface Pool {
  /** @throws PoolExhausted, DatabaseUnavailable */
  acquire(): Promise<Session>;
  end(): Promise<void>;
}

/** How long to wait for a free connection, or for a new one to be made, in milliseconds. */
const ACQUIRE_TIMEOUT_MS = 5_000;
/** A server that says nothing for so long is taken for gone: above every statement_timeout we set, in milliseconds. */
const SILENCE_TIMEOUT_MS = 60_000;
/** Connections are renewed at this age, in seconds, so that memory of old plans is given back. */
const CONNECTION_LIFETIME_S = 3_600;

/**
 * Makes the pool of application connections. It stays inside `database/`: whoever holds a raw connection could read
 * without a tenant.
 */
export function createPool(options: PoolOptions): Pool {
  const config: pg.PoolConfig & { pipeline: boolean } = {
    connectionString: options.url,
    max: options.size,
    application_name: options.applicationName,
    keepAlive: true,
    pipeline: true,
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    query_timeout: SILENCE_TIMEOUT_MS,
    maxLifetimeSeconds: CONNECTION_LIFETIME_S,
  };
  const pool = new pg.Pool(config);
  const lost = new WeakSet<pg.PoolClient>();
  const statements = new WeakMap<pg.PoolClient, Set<string>>();
  // Without these listeners a connection that breaks while nobody waits on it would end the process.
  pool.on("error", (error: Error & { client?: unknown }) => {
    // The driver hangs the whole client on it, connection settings included: nothing for a log.
    delete error.client;
    options.onError(error);
  });
  pool.on("connect", (client) => {
    statements.set(client, new Set());
    client.on("error", () => lost.add(client));
    client.on("end", () => lost.add(client));
  });

  return {
    async acquire() {
      let client: PipelinedClient;
      try {
        client = await pool.connect();
      } catch (error) {
        if (error instanceof Error && error.message === "timeout exceeded when trying to connect") {
          throw new PoolExhausted(
            `All ${options.size} connections stayed busy for ${ACQUIRE_TIMEOUT_MS / 1000} s. ` +
              "Look for slow transactions, or raise ROWHOUSE_POOL_SIZE.",
            { cause: error },
          );
        }
        throw fromDatabaseError(error, "connect");
      }
      return lend(client, lost, statements.get(client) ?? new Set());
    },
    end: () => pool.end(),
  };
}

function lend(client: PipelinedClient, lost: WeakSet<pg.PoolClient>, statements: Set<string>): Session {
  const isLost = () => lost.has(client);
  return {
    statements,
    isLost,
    async send(statement) {
      const outcome = await sendFlight(client, [], statement);
      if (outcome.ok) return outcome.answer;
      throw outcome.error;
    },
    command: (text) => client.query(text),
    sendFlight: (preamble, statement) => sendFlight(client, preamble, statement),
    release: () => client.release(isLost() || client.getTransactionStatus() !== "I"),
    destroy: () => client.release(true),
  };
}
