import pg from "pg";

/** PostgreSQL's own words about a statement it refused. They may quote values of rows: not for a client's eyes. */
export interface ServerError {
  /** SQLSTATE, five characters. */
  readonly code: string;
  readonly message: string;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  /** Where in the statement, in characters (Unicode code points) from 1. Known for few errors only. */
  readonly position: number | undefined;
}

/** PostgreSQL's answer inside an error or its causes; undefined when the server did not answer. */
export function serverErrorOf(error: unknown): ServerError | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof pg.DatabaseError && current.code !== undefined) {
      const { code, message, detail, hint, position } = current;
      return { code, message, detail, hint, position: position === undefined ? undefined : Number(position) };
    }
  }
  return undefined;
}
