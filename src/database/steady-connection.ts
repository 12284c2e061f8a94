import pg from "pg";
import { fromDatabaseError, isConnectionGone } from "./sql-state.ts";
import type { SqlConnection } from "./sql-connection.ts";

export interface SteadyOptions {
  readonly url: string;
  readonly applicationName: string;
  /** How long to wait for an answer, or for the connection, in milliseconds. @defaultValue 10,000 */
  readonly timeout?: number;
}

const TIMEOUT_MS = 10_000;

/**
 * One connection that is made when it is needed, and made anew after it was lost or did not answer in time: for loops that go on through
 * failures. A query that fails is not repeated: only the caller knows whether it may be.
 */
export function createSteadyConnection({ url, applicationName, timeout = TIMEOUT_MS }: SteadyOptions): SqlConnection {
  let current: Promise<pg.Client> | undefined;
  let isEnded = false;

  function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: url,
      application_name: applicationName,
      keepAlive: true,
      connectionTimeoutMillis: timeout,
      query_timeout: timeout,
    });
    const connected = client.connect().then(
      () => client,
      (error: unknown) => {
        forget();
        throw fromDatabaseError(error, "connect");
      },
    );
    const forget = () => {
      if (current === connected) current = undefined;
    };
    // Without a listener a lost connection would end the process.
    client.on("error", forget);
    client.on("end", forget);
    return connected;
  }

  async function drop(client: pg.Client): Promise<void> {
    current = undefined;
    await client.end().catch(() => {});
  }

  async function end(): Promise<void> {
    isEnded = true;
    const client = await current?.catch(() => undefined);
    if (client) await drop(client);
  }

  /** One after another: a connection does one thing at a time. */
  let last: Promise<unknown> = Promise.resolve();

  async function run<Row extends object>(text: string, values?: readonly unknown[]) {
    if (isEnded) throw fromDatabaseError(new Error("Client was closed and is not queryable"), "query");
    const client = await (current ??= connect());
    try {
      const result = await client.query<Row>(text, values === undefined ? undefined : [...values]);
      return { rows: result.rows, rowCount: result.rowCount ?? 0 };
    } catch (error) {
      // An answer that comes too late must not be taken for the next one's.
      if (isConnectionGone(error)) void drop(client);
      throw fromDatabaseError(error, "query");
    }
  }

  return {
    query<Row extends object>(text: string, values?: readonly unknown[]) {
      const answer = last.then(() => run<Row>(text, values));
      last = answer.catch(() => {});
      return answer;
    },
    end,
    [Symbol.asyncDispose]: end,
  };
}
