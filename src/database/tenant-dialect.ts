import { Column, Name, Param, type Query, type QueryWithTypings, SQL, StringChunk, Table } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";

/*
 * Drizzle turns a statement's pieces into text by testing each against a dozen classes, which took longer than all that a
 * small transaction does besides. This dialect knows the usual pieces at sight and leaves every other to Drizzle.
 */

type BuildConfig = Parameters<SQL["toQuery"]>[0] & { paramStartIndex: { value: number } };

/** A statement while it is written. */
interface Draft {
  sql: string;
  readonly params: unknown[];
  readonly config: BuildConfig;
}

export class TenantDialect extends PgDialect {
  /** The text of columns and tables, which does not change. */
  readonly #names = new WeakMap<object, string>();
  readonly #config = {
    casing: (this as unknown as BuildConfig).casing,
    escapeName: (name: string) => this.escapeName(name),
    escapeParam: (index: number) => this.escapeParam(index),
    escapeString: (text: string) => this.escapeString(text),
  };

  override sqlToQuery(statement: SQL, invokeSource?: "indexes"): QueryWithTypings {
    if (invokeSource || isInlined(statement)) return super.sqlToQuery(statement, invokeSource);
    const draft: Draft = { sql: "", params: [], config: { ...this.#config, paramStartIndex: { value: 0 } } };
    this.#append(draft, statement.queryChunks);
    return { sql: draft.sql, params: draft.params };
  }

  #append(draft: Draft, pieces: readonly unknown[]): void {
    for (const piece of pieces) {
      if (piece instanceof StringChunk) draft.sql += piece.value.length === 1 ? piece.value[0] : piece.value.join("");
      else if (piece instanceof Name) draft.sql += draft.config.escapeName(piece.value);
      else if (piece instanceof Param) this.#appendParam(draft, piece);
      else if (piece instanceof SQL && !isInlined(piece)) this.#append(draft, piece.queryChunks);
      else if (piece instanceof Column || piece instanceof Table) draft.sql += this.#nameOf(draft, piece);
      else if (piece !== undefined) this.#appendByDrizzle(draft, piece);
    }
  }

  #appendParam(draft: Draft, param: Param): void {
    if (isSql(param.value)) return this.#appendByDrizzle(draft, param);
    const value: unknown = param.value === null ? null : param.encoder.mapToDriverValue(param.value);
    if (isSql(value)) return this.#appendByDrizzle(draft, param);
    draft.sql += draft.config.escapeParam(draft.config.paramStartIndex.value++, value);
    draft.params.push(value);
  }

  #nameOf(draft: Draft, named: Column | Table): string {
    let text = this.#names.get(named);
    if (text === undefined) this.#names.set(named, (text = this.#byDrizzle(draft, named).sql));
    return text;
  }

  #appendByDrizzle(draft: Draft, piece: unknown): void {
    const { sql, params } = this.#byDrizzle(draft, piece);
    draft.sql += sql;
    draft.params.push(...params);
  }

  #byDrizzle({ config }: Draft, piece: unknown): Query {
    return new SQL([piece as SQL]).toQuery(config);
  }
}

/** True for SQL whose values are to be written into its text; Drizzle keeps that private. */
const isInlined = (piece: SQL): boolean => (piece as unknown as { shouldInlineParams: boolean }).shouldInlineParams;

/** A placeholder, or SQL in a value's place. */
const isSql = (value: unknown): boolean => typeof value === "object" && value !== null && "getSQL" in value;
