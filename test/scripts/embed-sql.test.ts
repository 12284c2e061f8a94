import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { renderSqlModule } from "../../scripts/embed-sql.ts";
import { sql } from "../../src/generated/sql.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

async function projectOf(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), "rowhouse-test-"));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const folder of ["db/migrations", "policies/docs"]) await mkdir(path.join(root, folder), { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(root, file), text);
  return root;
}

describe("the embedded SQL", () => {
  it("is what db/ and policies/ say", async () => {
    expect(await readFile(path.join(ROOT, "src/generated/sql.ts"), "utf8")).toBe(renderSqlModule(ROOT));
  });

  it("has every SQL file but the golden one, word for word", async () => {
    const files = (
      await Promise.all(
        ["db", "policies"].map((folder) =>
          readdir(path.join(ROOT, folder), { recursive: true }).then((names) =>
            names.map((name) => `${folder}/${name}`),
          ),
        ),
      )
    )
      .flat()
      .filter((file) => file.endsWith(".sql") && file !== "db/schema.sql");
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      expect((sql as Record<string, string>)[file], file).toBe(await readFile(path.join(ROOT, file), "utf8"));
    }
  });

  it("survives whatever a file holds, and evens out line ends", async () => {
    const nasty = "select '`${1 + 1}` \\ \\n $$ \\u{41}' -- `${x}`\n";
    const root = await projectOf({
      "db/migrations/0001_a.sql": nasty,
      "db/roles.sql": "a\r\nb\r\n",
      "db/schema.sql": "golden",
      "db/README.md": "not embedded",
      "policies/docs/0001_rule.md": "# `rule`\n",
      "policies/README.md": "not embedded",
    });
    const module = path.join(root, "sql.ts");
    await writeFile(module, renderSqlModule(root));
    const { sql: embedded } = (await import(pathToFileURL(module).href)) as { sql: Record<string, string> };
    expect(embedded).toEqual({
      "db/migrations/0001_a.sql": nasty,
      "db/roles.sql": "a\nb\n",
      "policies/docs/0001_rule.md": "# `rule`\n",
    });
  });
});
