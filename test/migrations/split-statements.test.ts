import { describe, expect, it } from "vitest";
import { splitStatements } from "../../src/migrations/split-statements.ts";

const texts = (sql: string) => splitStatements(sql).map((statement) => statement.text);

describe("statements", () => {
  it("end at a semicolon, and the last one at the end of the file", () => {
    expect(texts("select 1; select 2 ;\n\nselect 3")).toEqual(["select 1", "select 2", "select 3"]);
  });

  it("begin at their first word, after comments and empty statements", () => {
    expect(splitStatements("-- one; two\n\n;; /* a ; /* nested ; */ still */\n  select 1;")).toEqual([
      { text: "select 1", line: 4 },
    ]);
  });

  it("are none in a file of comments", () => {
    expect(texts("-- Custom SQL migration file, put your code below! --\n")).toEqual([]);
    expect(texts("")).toEqual([]);
  });

  it("know their lines", () => {
    expect(splitStatements("create table a (\n  b int\n);\n\nselect\n1;").map((statement) => statement.line)).toEqual([
      1, 5,
    ]);
  });

  it.each([
    ["strings", "select ';', 'it''s; so'"],
    ["strings with a backslash at their end", String.raw`select 'C:\', ';'`],
    ["escape strings", String.raw`select E'\';', e'a\\', E'''\';'`],
    ["quoted names", `select ";", "a"";b"`],
    ["dollar quotes", "do $$ begin perform 1; end $$"],
    ["dollar quotes with a tag, around others", "do $a$ select $$;$$; $b$;$b$ $a$"],
    ["parameters and names with a dollar", "prepare p as select $1, a$b$c; select 1".split(";")[0]!],
    ["comments inside", "select 1 -- one; two\n + /* ; */ 2"],
    ["parentheses", "create rule r as on insert to t do (delete from a; delete from b)"],
    [
      "a function's atomic body",
      "create or replace function f() returns int begin atomic select 1; select case when true then 2 end; end",
    ],
    ["an atomic body of a procedure", "create procedure p() begin atomic insert into t values (1); end"],
    ["a function's return", "create function f(a int) returns int return case when a > 0 then 1 else 2 end"],
  ])("keep the semicolons of %s", (_, statement) => {
    expect(texts(`${statement};\nselect 'next';`)).toEqual([statement, "select 'next'"]);
  });

  it("are not held together by the words of other statements", () => {
    expect(texts("begin; create table atomic (begin int); select case when true then 1 end; end;")).toEqual([
      "begin",
      "create table atomic (begin int)",
      "select case when true then 1 end",
      "end",
    ]);
  });

  it("are separated by drizzle-kit's breakpoints, with or without semicolons", () => {
    const file =
      'CREATE TABLE "a" ("id" int);\n--> statement-breakpoint\nCREATE TABLE "b" ("id" int)--> statement-breakpoint\nselect 1';
    expect(texts(file)).toEqual(['CREATE TABLE "a" ("id" int)', 'CREATE TABLE "b" ("id" int)', "select 1"]);
  });

  it("take what is never closed to the end, so that PostgreSQL can complain", () => {
    expect(texts("select 1; do $$ begin; end;")).toEqual(["select 1", "do $$ begin; end;"]);
    expect(texts("select 1; select /* open; ")).toHaveLength(2);
  });

  it("may be very long", () => {
    const seed = `insert into t values ('${"it''s; ".repeat(500_000)}'), (E'${"\\';".repeat(500_000)}')`;
    expect(texts(`${seed};select 1`)).toEqual([seed, "select 1"]);
  });
});
