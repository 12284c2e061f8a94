import pg from "pg";
import { PoolExhausted } from "../errors.ts";
import {
  type FlightOutcome,
  type NamedPreamble,
  type PipelinedClient,
  sendCommand,
  sendFlight,
} from "./flight-query.ts";
import { fromDatabaseError } from "./sql-state.ts";
import type { SqlAnswer, SqlResult, SqlStatement } from "./sql-statement.ts";

/** One connection, lent. Statements are sent at once, without waiting for the answers of those before (pipelining). */
export interface Session {
  /** The driver's own errors come out raw: only the transaction knows what they mean. */
  send(statement: SqlStatement): Promise<SqlAnswer>;
  /** Sends one of the transaction's own commands (COMMIT, SAVEPOINT …), in the shortest form there is. */
  command(text: string): Promise<SqlResult>;
  /** Sends statements nobody reads and the one behind them together; that one runs only if all before it did. */
  sendFlight(preamble: readonly NamedPreamble[], statement: SqlStatement): Promise<FlightOutcome>;
  /** True once the connection is known to be gone. */
  isLost(): boolean;
  /** The names of the statements that were prepared on this connection. */
  readonly statements: Set<string>;
  /** Calls the listener once, when the connection is lost while it is lent. */
  whenLost(listener: () => void): void;
  /** Clears the session of everything that outlives a transaction, then gives the connection back. Never rejects. */
  resetAndRelease(): Promise<void>;
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
  /** How long a server may say nothing while somebody waits for it, in milliseconds. @defaultValue 60,000 */
  readonly silenceTimeout?: number;
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
/**
 * A server that says nothing for so long is taken for gone, in milliseconds: above every statement_timeout we set. The
 * socket keeps the time, since pg's `query_timeout` would make a timer for each query.
 */
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
    maxLifetimeSeconds: CONNECTION_LIFETIME_S,
  };
  const pool = new pg.Pool(config);
  const lost = new WeakSet<pg.PoolClient>();
  const lent = new WeakSet<pg.PoolClient>();
  const statements = new WeakMap<pg.PoolClient, Set<string>>();
  const listeners = new WeakMap<pg.PoolClient, () => void>();
  // Without these listeners a connection that breaks while nobody waits on it would end the process.
  pool.on("error", (error: Error & { client?: unknown }) => {
    // The driver hangs the whole client on it, connection settings included: nothing for a log.
    delete error.client;
    options.onError(error);
  });
  pool.on("connect", (client) => {
    statements.set(client, new Set());
    const onLost = () => {
      if (lost.has(client)) return;
      lost.add(client);
      listeners.get(client)?.();
    };
    client.on("error", onLost);
    client.on("end", onLost);
    const { stream } = (client as unknown as PipelinedClient).connection;
    stream.setTimeout(options.silenceTimeout ?? SILENCE_TIMEOUT_MS, () => {
      if (lent.has(client)) stream.destroy(new Error("Query read timeout"));
    });
  });

  return {
    async acquire() {
      let client: PipelinedClient;
      try {
        client = (await pool.connect()) as unknown as PipelinedClient;
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
      lent.add(client);
      return lend(client, { lost, lent, listeners, statements: statements.get(client) ?? new Set() });
    },
    end: () => pool.end(),
  };
}

interface Lending {
  readonly lost: WeakSet<pg.PoolClient>;
  readonly lent: WeakSet<pg.PoolClient>;
  readonly listeners: WeakMap<pg.PoolClient, () => void>;
  readonly statements: Set<string>;
}

function lend(client: PipelinedClient, { lost, lent, listeners, statements }: Lending): Session {
  const isLost = () => lost.has(client);
  const giveBack = (isDestroyed: boolean) => {
    listeners.delete(client);
    lent.delete(client);
    client.release(isDestroyed);
  };
  const release = () => giveBack(isLost() || client.getTransactionStatus() !== "I");
  return {
    statements,
    isLost,
    async send(statement) {
      const outcome = await sendFlight(client, [], statement);
      if (outcome.ok) return outcome.answer;
      throw outcome.error;
    },
    command: (text) => sendCommand(client, text),
    sendFlight: (preamble, statement) => sendFlight(client, preamble, statement),
    whenLost: (listener) => void listeners.set(client, listener),
    async resetAndRelease() {
      try {
        await client.query("discard all");
        // Prepared statements are gone as well, so nobody may believe that they are there.
        statements.clear();
        client.connection.parsedStatements = {};
        release();
      } catch {
        giveBack(true);
      }
    },
    release,
    destroy: () => giveBack(true),
  };
}
