import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ruleNames } from "../../src/doctor/catalog.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(ROOT, file), "utf8");

const namesIn = (folder: string, extension: string) =>
  readdirSync(path.join(ROOT, folder))
    .filter((name) => name.endsWith(extension))
    .map((name) => name.slice(0, -extension.length))
    .sort();

const HEADINGS = ["What", "Why it leaks", "How to fix", "Example"];

describe("the rules", () => {
  it("are embedded, each with a page and a story of the same number and name", () => {
    const rules = namesIn("policies/lints", ".sql");
    expect(rules.length).toBeGreaterThan(20);
    expect([...ruleNames]).toEqual(rules);
    expect(namesIn("policies/docs", ".md")).toEqual(rules);
    expect(namesIn("test/policies", ".sql")).toEqual(rules);
  });

  it("are numbered without gaps or doubles", () => {
    const numbers = ruleNames.map((name) => Number(name.slice(0, 4)));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    for (const name of ruleNames) expect(name).toMatch(/^\d{4}_[a-z][a-z_]*$/);
  });

  it.each(ruleNames)("%s has a page that says its level, what, why, how and an example", (name) => {
    const page = read(`policies/docs/${name}.md`);
    const rule = read(`policies/lints/${name}.sql`);
    expect(page.split("\n")[0]).toBe(`# ${name}`);
    expect([...page.matchAll(/^## (.*)$/gm)].map((match) => match[1])).toEqual(HEADINGS);
    expect(page).toMatch(/```sql\n[^`]+\n```\n$/);
    const levels = [...new Set([...rule.matchAll(/'(error|warning|info)'/g)].map((match) => match[1]!))];
    expect(levels).not.toEqual([]);
    const line = /^\*\*Level:\*\* (.*)$/m.exec(page)?.[1] ?? "";
    expect([...line.matchAll(/\b(error|warning|info)\b/g)].map((match) => match[1])).toEqual(levels);
  });
});
