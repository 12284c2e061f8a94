import { LRUCache } from "lru-cache";
import type { NamedPreamble, PreambleStatement } from "./flight-query.ts";
import type { Session } from "./pool.ts";
import type { SqlStatement } from "./sql-statement.ts";

/** Texts remembered in a process; beyond it the least used is forgotten and merely counts from zero again. */
const REMEMBERED_TEXTS = 2_000;
/** Named statements on one connection; beyond it new texts stay unnamed until the connection is renewed. */
const NAMED_PER_CONNECTION = 250;

/** Gives a name to SQL text that repeats, so that PostgreSQL parses and plans it once a connection. */
export interface StatementNames {
  /**
   * @param key what else the plan depends on: the same text means other tables in another placement
   * @returns the statement, named when it repeats and the connection has room
   */
  name(statement: SqlStatement, session: Session, key: string): SqlStatement;
  /** Names a statement of every transaction's beginning: at its first use on the connection it is parsed. */
  preamble(statement: PreambleStatement, session: Session): NamedPreamble;
  /** Forgets all names: after a migration the old plans are wrong. */
  renew(): void;
}

/** @param enabled false behind a pooler that does not keep prepared statements apart (PgBouncer before 1.21) */
export function createStatementNames(enabled: boolean): StatementNames {
  const seen = new LRUCache<string, { name: string | undefined }>({ max: REMEMBERED_TEXTS });
  const preambles = new Map<string, string>();
  let counter = 0;
  return {
    name(statement, session, key) {
      if (!enabled) return statement;
      const entryKey = `${key}\n${statement.text}`;
      const entry = seen.get(entryKey);
      if (entry === undefined) {
        seen.set(entryKey, { name: undefined });
        return statement;
      }
      entry.name ??= `rh_${++counter}`;
      if (!session.statements.has(entry.name)) {
        if (session.statements.size >= NAMED_PER_CONNECTION) return statement;
        session.statements.add(entry.name);
      }
      return { ...statement, name: entry.name };
    },
    preamble(statement, session) {
      const { text } = statement;
      if (!enabled) return { statement, name: undefined, isPrepared: false };
      let name = preambles.get(text);
      if (!name) preambles.set(text, (name = `rh_begin_${preambles.size + 1}`));
      const isPrepared = session.statements.has(name);
      session.statements.add(name);
      return { statement, name, isPrepared };
    },
    renew: () => seen.clear(),
  };
}
