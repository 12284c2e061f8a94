import type pg from "pg";

/** One statement for the driver. */
export interface SqlStatement {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  /** Set for a statement that repeats: it is parsed and planned once a connection. */
  readonly name?: string | undefined;
  /** Set for SQL that was written freely (`db.execute`) rather than by a query builder. */
  readonly isFree?: boolean | undefined;
  readonly rowMode?: "array" | undefined;
  readonly types?: pg.CustomTypesConfig | undefined;
}

export interface SqlResult {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: unknown[];
}

/** A statement's result, and where it left the connection. */
export interface SqlAnswer {
  readonly result: SqlResult;
  /** True when the connection stood outside any transaction at the moment of the answer. */
  readonly isOutside: boolean;
}
