/** One SQL statement of a file. */
export interface Statement {
  /** Without the semicolon, and without comments before it. */
  readonly text: string;
  /** The line of the file on which it begins, from 1. */
  readonly line: number;
}

/** drizzle-kit's separator between statements. To PostgreSQL it is a comment. */
const BREAKPOINT = "--> statement-breakpoint";

// One alternative per lexical element that may hide a semicolon
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html), then words and single characters.
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>--[^\n]*|/\*)`,
    // '' inside a plain string is the end of one token and the beginning of the next, which comes to the same.
    String.raw`(?<string>[eE]'[^'\\]*(?:(?:\\[^]|'')[^'\\]*)*'|'[^']*'|"[^"]*")`,
    String.raw`(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)`,
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(?<space>\s+)`,
    String.raw`(?<other>\d[\w$]*|[^])`,
  ].join("|"),
  "y",
);

/**
 * Splits a file into its statements, as psql does: strings, comments, dollar quotes, parentheses and
 * `begin atomic … end` bodies keep their semicolons.
 */
export function splitStatements(text: string): Statement[] {
  const statements: Statement[] = [];
  let start = -1; // of the statement under way; -1 before its first token
  let words: string[] = [];
  let parentheses = 0;
  let blocks = 0;
  let at = 0;

  const finish = (end: number) => {
    if (start >= 0) {
      statements.push({ text: text.slice(start, end).trimEnd(), line: lineAt(text, start) });
    }
    start = -1;
    words = [];
    parentheses = 0;
    blocks = 0;
  };

  while (at < text.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) break; // cannot happen: the last alternative takes anything
    const { comment, string, dollar, word, space } = match.groups!;
    const token = match[0];
    const from = at;
    at += token.length;

    if (space !== undefined) continue;
    if (comment !== undefined) {
      if (comment === "/*") at = endOfBlockComment(text, from);
      else if (comment.startsWith(BREAKPOINT)) finish(from);
      continue;
    }
    if (token === ";" && parentheses === 0 && blocks === 0) {
      finish(from);
      continue;
    }
    if (start < 0) start = from;
    if (dollar !== undefined) {
      const close = text.indexOf(dollar, at);
      at = close < 0 ? text.length : close + dollar.length;
    } else if (word !== undefined) {
      words.push(word.toLowerCase());
      blocks = blocksAfter(words, blocks);
    } else if (string === undefined) {
      if (token === "(") parentheses++;
      if (token === ")" && parentheses > 0) parentheses--;
    }
  }
  finish(text.length);
  return statements;
}

/** Depth of `begin atomic` and `case` blocks after the last word: only a function's body has them. */
function blocksAfter(words: readonly string[], blocks: number): number {
  const isRoutine =
    words[0] === "create" && words.slice(1, 4).some((word) => word === "function" || word === "procedure");
  if (!isRoutine) return blocks;
  const [before, last] = [words.at(-2), words.at(-1)];
  if (last === "atomic" && before === "begin") return blocks + 1;
  if (blocks === 0) return 0;
  if (last === "case") return blocks + 1;
  if (last === "end") return blocks - 1;
  return blocks;
}

/** Block comments nest in PostgreSQL, unlike in the standard. */
function endOfBlockComment(text: string, from: number): number {
  let depth = 0;
  const edge = /\/\*|\*\//g;
  edge.lastIndex = from;
  for (let match = edge.exec(text); match; match = edge.exec(text)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return text.length;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
