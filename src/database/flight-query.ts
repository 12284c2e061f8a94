import type { Socket } from "node:net";
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
  values: readonly unknown[] | undefined;
  name: string | undefined;
  types: pg.CustomTypesConfig | undefined;
  queryMode: "extended" | undefined;
  _result: object;
  _results: object;
  submit(connection: WireConnection): Error | null;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: WireConnection): void;
}

const { Query: BaseQuery, Result } = pg as unknown as {
  Query: new (text: string) => QueryProtocol;
  Result: new (rowMode: "array" | undefined, types: pg.CustomTypesConfig | undefined) => object;
};

/**
 * A statement that goes ahead of the first query and whose rows nobody reads. Its values are strings already. Use the same
 * object again: what it looks like on the wire is made once.
 */
export interface PreambleStatement {
  readonly text: string;
  readonly values: readonly string[];
}

/** A preamble's statement on one connection. */
export interface NamedPreamble {
  readonly statement: PreambleStatement;
  /** Its name on the connection, if statements may be named. */
  readonly name: string | undefined;
  /** True when the connection has parsed it under that name. */
  readonly isPrepared: boolean;
}

/** A query that carries others in front of it. pg's client takes any subclass of its Query as one query. */
class FlightQuery extends BaseQuery {
  readonly #preamble: readonly NamedPreamble[];
  /** How many statements of the preamble have completed. */
  completed = 0;

  constructor(preamble: readonly NamedPreamble[], { text, values, name, rowMode, types }: SqlStatement) {
    // What the constructor gets as an object it copies property by property, which takes longer than all the rest.
    super(text);
    this.values = values;
    this.name = name;
    this.types = types;
    this._result = this._results = new Result(rowMode, types);
    // The extended protocol takes one statement at a time, with or without parameters: SQL that was pasted together
    // cannot smuggle in a second one, such as a COMMIT.
    this.queryMode = "extended";
    this.#preamble = preamble;
  }

  /** Collects the messages and writes them at once: a system call for each would cost more than the query. */
  override submit(connection: WireConnection): Error | null {
    const { collector, messages } = outboxOf(connection);
    for (const ahead of this.#preamble) {
      if (ahead.isPrepared) messages.push(boundMessages(ahead, collector, messages));
      else sendUnprepared(ahead, collector);
    }
    const error = super.submit(collector);
    if (!error) connection.stream.write(Buffer.concat(messages));
    messages.length = 0;
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

/** Takes a connection's place and keeps what is sent. */
interface Outbox {
  readonly collector: WireConnection;
  readonly messages: Buffer[];
}

const outboxes = new WeakMap<WireConnection, Outbox>();

function outboxOf(connection: WireConnection): Outbox {
  const known = outboxes.get(connection);
  if (known) return known;
  const messages: Buffer[] = [];
  const collector = Object.create(connection, {
    _send: { value: (message: Buffer) => void messages.push(message) },
    stream: { value: {} },
  }) as WireConnection;
  const outbox = { collector, messages };
  outboxes.set(connection, outbox);
  return outbox;
}

function sendUnprepared({ statement: { text, values }, name = "" }: NamedPreamble, collector: WireConnection): void {
  collector.parse({ name, text, types: [] });
  collector.bind({ statement: name, values });
  collector.execute({ portal: "", rows: 0 });
}

const bound = new WeakMap<PreambleStatement, { readonly name: string; readonly bytes: Buffer }>();

/** Bind and Execute of a prepared statement: the same bytes on every connection. */
function boundMessages({ statement, name = "" }: NamedPreamble, collector: WireConnection, messages: Buffer[]): Buffer {
  const known = bound.get(statement);
  if (known?.name === name) return known.bytes;
  const start = messages.length;
  collector.bind({ statement: name, values: statement.values });
  collector.execute({ portal: "", rows: 0 });
  const bytes = Buffer.concat(messages.splice(start));
  bound.set(statement, { name, bytes });
  return bytes;
}

/** What pg's typings leave out: the status is documented, the names of what was parsed are not. */
export type PipelinedClient = pg.PoolClient & {
  getTransactionStatus(): "I" | "T" | "E" | null;
  readonly connection: { parsedStatements: Record<string, string>; readonly stream: Socket };
};

/** What became of a flight: either the query's result, or the error and how many statements of the preamble had run. */
export type FlightOutcome =
  | { readonly ok: true; readonly answer: SqlAnswer }
  | { readonly ok: false; readonly error: unknown; readonly completed: number };

/** Sends the preamble and the statement in one flight. Never rejects. */
export function sendFlight(
  client: PipelinedClient,
  preamble: readonly NamedPreamble[],
  statement: SqlStatement,
): Promise<FlightOutcome> {
  return new Promise((resolve) => {
    const query = new FlightQuery(preamble, statement);
    query.callback = (error, result) => {
      if (error) return resolve({ ok: false, error, completed: query.completed });
      // Read now: by the time the caller goes on, the answer to a COMMIT behind this may have come as well.
      resolve({ ok: true, answer: { result, isOutside: client.getTransactionStatus() === "I" } });
    };
    client.query(query as unknown as pg.Submittable);
  });
}

/** Sends one command by the simple protocol, in a single message. */
export function sendCommand(client: PipelinedClient, text: string): Promise<SqlResult> {
  return new Promise((resolve, reject) => {
    const query = new BaseQuery(text);
    query.callback = (error, result) => (error ? reject(error) : resolve(result));
    client.query(query as unknown as pg.Submittable);
  });
}
