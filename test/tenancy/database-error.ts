import pg from "pg";

/** What the driver throws when PostgreSQL answers with this SQLSTATE. */
export function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError("", 0, "error"), { code });
}
