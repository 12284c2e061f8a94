import pg from "pg";
import type { SqlAnswer, SqlResult, SqlStatement } from "./sql-statement.ts";

/*
 * Several statements between one pair of messages: Bind and Execute for each, and one Sync at the end
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING). Until the Sync PostgreSQL
 * skips whatever follows a statement that failed: if BEGIN or enter() is refused, the first query is never run. It also
 * answers once instead of three times, which is most of what a transaction costs.
 */

/** What pg's Connection offers to query classes; pg-cursor is built on the same. */
interface WireConnection {
  parse(message: { name: string; text: string; types: readonly number[] }): void;
  bind(message: { statement: string; values: readonly unknown[] }): void;
  execute(message: { portal: string; rows: number }): void;
  /** Every message goes through here. */
  _send(message: Buffer): void;
  readonly stream: { cork?(): void; uncork?(): void; write(bytes: Buffer): boolean };
}

/** pg's Query as its client calls it: the typings show only what applications use. */
interface QueryProtocol {
  callback: (error: Error | null, result: SqlResult) => void;
  submit(connection: WireConnection): Error | null;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: WireConnection): void;
}

const BaseQuery = pg.Query as unknown as new (config: object) => QueryProtocol;

/** A statement that goes ahead of the first query and whose rows nobody reads. Its values are strings already. */
export interface PreambleStatement {
  readonly text: string;
  readonly values: readonly string[];
  /** Its name on the connection, if statements may be named. */
  readonly name: string | undefined;
  /** True when the connection has parsed it under that name. */
  readonly isPrepared: boolean;
}

/** A query that carries others in front of it. pg's client takes any subclass of its Query as one query. */
class FlightQuery extends BaseQuery {
  readonly #preamble: readonly PreambleStatement[];
  /** How many statements of the preamble have completed. */
  completed = 0;

  constructor(preamble: readonly PreambleStatement[], config: object) {
    super(config);
    this.#preamble = preamble;
  }

  /** Collects the messages and writes them at once: a system call for each would cost more than the query. */
  override submit(connection: WireConnection): Error | null {
    const messages: Buffer[] = [];
    const collector = Object.create(connection, {
      _send: { value: (message: Buffer) => messages.push(message) },
      stream: { value: {} },
    }) as WireConnection;
    for (const { text, values, name = "", isPrepared } of this.#preamble) {
      if (!isPrepared) collector.parse({ name, text, types: [] });
      collector.bind({ statement: name, values });
      collector.execute({ portal: "", rows: 0 });
    }
    const error = super.submit(collector);
    if (!error) connection.stream.write(Buffer.concat(messages));
    return error;
  }

  override handleDataRow(message: unknown): void {
    if (this.completed === this.#preamble.length) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: WireConnection): void {
    if (this.completed < this.#preamble.length) this.completed++;
    else super.handleCommandComplete(message, connection);
  }
}

/** What pg's typings leave out: the status is documented, the names of what was parsed are not. */
export type PipelinedClient = pg.PoolClient & {
  getTransactionStatus(): "I" | "T" | "E" | null;
  readonly connection: { parsedStatements: Record<string, string> };
};

/** What became of a flight: either the query's result, or the error and how many statements of the preamble had run. */
export type FlightOutcome =
  | { readonly ok: true; readonly answer: SqlAnswer }
  | { readonly ok: false; readonly error: unknown; readonly completed: number };

/** Sends the preamble and the statement in one flight. Never rejects. */
export function sendFlight(
  client: PipelinedClient,
  preamble: readonly PreambleStatement[],
  statement: SqlStatement,
): Promise<FlightOutcome> {
  return new Promise((resolve) => {
    const query = new FlightQuery(preamble, extended(statement));
    query.callback = (error, result) => {
      if (error) return resolve({ ok: false, error, completed: query.completed });
      // Read now: by the time the caller goes on, the answer to a COMMIT behind this may have come as well.
      resolve({ ok: true, answer: { result, isOutside: client.getTransactionStatus() === "I" } });
    };
    client.query(query as unknown as pg.Submittable);
  });
}

/**
 * The extended protocol takes one statement at a time, with or without parameters: SQL that was pasted together cannot
 * smuggle in a second one, such as a COMMIT.
 */
const extended = ({ text, values, name, rowMode, types }: SqlStatement): object => ({
  text,
  values,
  name,
  rowMode,
  types,
  queryMode: "extended",
});
