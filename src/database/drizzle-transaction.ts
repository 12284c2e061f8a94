import pg from "pg";
import { entityKind, fillPlaceholders, type Query, type SQL } from "drizzle-orm";
import type { NodePgQueryResultHKT } from "drizzle-orm/node-postgres";
import { type PgDialect, PgTransaction } from "drizzle-orm/pg-core";
import { PgPreparedQuery, PgSession, type PreparedQueryConfig } from "drizzle-orm/pg-core/session";
import type { SelectedFieldsOrdered } from "drizzle-orm/pg-core/query-builders/select.types";
import { rowMapper } from "./row-mapper.ts";
import type { SqlResult, SqlStatement } from "./sql-statement.ts";
import { TenantDialect } from "./tenant-dialect.ts";
import type { TenantDb } from "./types.ts";

/*
 * Drizzle on top of the tenant transaction. Its own node-postgres session would take a client and let `.transaction()`
 * send BEGIN and ROLLBACK, which end the tenant's transaction; this one has neither. The classes are Drizzle's
 * extension points. Errors come out as Rowhouse's own: Drizzle's wrapper would print every parameter in its message.
 */

/** What the Drizzle side needs of the tenant transaction. */
export interface StatementRunner {
  query(statement: SqlStatement): Promise<SqlResult>;
  savepoint<Result>(work: (db: TenantDb) => Promise<Result>): Promise<Result>;
}

type NoSchema = Record<string, never>;

const { builtins } = pg.types;
/** Types whose text Drizzle's columns parse themselves; the array types have no name in pg. */
const LEFT_AS_TEXT: ReadonlySet<number> = new Set([
  builtins.TIMESTAMPTZ,
  builtins.TIMESTAMP,
  builtins.DATE,
  builtins.INTERVAL,
  1231,
  1115,
  1185,
  1187,
  1182,
]);
const asText = (value: unknown) => value;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((id: number, format: "text" | "binary"): unknown =>
    LEFT_AS_TEXT.has(id) ? asText : pg.types.getTypeParser(id, format)) as typeof pg.types.getTypeParser,
};

class TenantPreparedQuery<Config extends PreparedQueryConfig> extends PgPreparedQuery<Config> {
  static override readonly [entityKind] = "RowhousePreparedQuery";
  /** Set by Drizzle's select builder after construction. */
  joinsNotNullableMap: unknown;
  readonly #runner: StatementRunner;
  readonly #fields: SelectedFieldsOrdered | undefined;
  readonly #isFree: boolean;
  readonly #mapRows: ((rows: unknown[][]) => Config["execute"]) | undefined;

  constructor(
    runner: StatementRunner,
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    mapRows: ((rows: unknown[][]) => Config["execute"]) | undefined,
    isFree: boolean,
  ) {
    super(query, undefined, undefined);
    this.#runner = runner;
    this.#fields = fields;
    this.#mapRows = mapRows;
    this.#isFree = isFree;
  }

  override async execute(placeholders: Record<string, unknown> = {}): Promise<Config["execute"]> {
    const values = fillPlaceholders(this.query.params, placeholders);
    const fields = this.#fields;
    if (!fields && !this.#mapRows)
      return this.#runner.query({ text: this.query.sql, values, types, isFree: this.#isFree });
    const result = await this.#runner.query({
      text: this.query.sql,
      values,
      types,
      rowMode: "array",
      isFree: this.#isFree,
    });
    const rows = result.rows as unknown[][];
    if (this.#mapRows) return this.#mapRows(rows);
    return rows.map(rowMapper(fields ?? [], this.joinsNotNullableMap));
  }

  async all(placeholders: Record<string, unknown> = {}): Promise<Config["all"]> {
    const values = fillPlaceholders(this.query.params, placeholders);
    const result = await this.#runner.query({ text: this.query.sql, values, types, isFree: this.#isFree });
    return result.rows;
  }

  /** Asked by Drizzle's relational queries. */
  isResponseInArrayMode(): boolean {
    return this.#fields !== undefined || this.#mapRows !== undefined;
  }
}

class TenantSession extends PgSession<NodePgQueryResultHKT, NoSchema, NoSchema> {
  static override readonly [entityKind] = "RowhouseSession";
  readonly #runner: StatementRunner;

  constructor(runner: StatementRunner, dialect: PgDialect) {
    super(dialect);
    this.#runner = runner;
  }

  override prepareQuery<Config extends PreparedQueryConfig>(
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    _name: string | undefined,
    _isArray: boolean,
    mapRows?: (rows: unknown[][]) => Config["execute"],
    builtBy?: object,
  ): PgPreparedQuery<Config> {
    // Drizzle's builders say which tables they touch; `db.execute()` has nothing to say.
    const isFree = builtBy === undefined && mapRows === undefined;
    return new TenantPreparedQuery<Config>(this.#runner, query, fields, mapRows, isFree);
  }

  override transaction<Result>(work: (db: TenantDb) => Promise<Result>): Promise<Result> {
    return this.#runner.savepoint(work);
  }

  override async count(query: SQL): Promise<number> {
    const result = await this.#runner.query({ ...toStatement(this.dialect.sqlToQuery(query)), types });
    return Number((result.rows[0] as { count?: unknown } | undefined)?.count);
  }
}

class TenantDrizzleTransaction extends PgTransaction<NodePgQueryResultHKT, NoSchema, NoSchema> {
  static override readonly [entityKind] = "RowhouseTransaction";
  readonly #runner: StatementRunner;

  constructor(runner: StatementRunner, dialect: PgDialect) {
    super(dialect, new TenantSession(runner, dialect), undefined);
    this.#runner = runner;
  }

  /** A nested transaction is a savepoint of the tenant's; siblings run one after another. */
  override transaction<Result>(work: (db: TenantDb) => Promise<Result>): Promise<Result> {
    return this.#runner.savepoint(work);
  }
}

const toStatement = (query: Query): SqlStatement => ({ text: query.sql, values: query.params });

/** Makes the function that gives a tenant transaction its Drizzle face. */
export function createDrizzleFactory(): (runner: StatementRunner) => TenantDb {
  const dialect = new TenantDialect();
  return (runner) => new TenantDrizzleTransaction(runner, dialect);
}
