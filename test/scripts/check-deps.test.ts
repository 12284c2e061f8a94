import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkDependencies } from "../../scripts/check-deps.ts";

// Each test starts the whole tool.
vi.setConfig({ testTimeout: 120_000 });

const ROOT = path.resolve(import.meta.dirname, "../..");

/** A project with this src/, inside this one so that it finds the same node_modules. */
async function projectOf(files: Record<string, string>): Promise<string> {
  await mkdir(path.join(ROOT, ".rowhouse"), { recursive: true });
  const root = await mkdtemp(path.join(ROOT, ".rowhouse/check-deps-"));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.join(root, "src", path.dirname(file)), { recursive: true });
    await writeFile(path.join(root, "src", file), text);
  }
  return root;
}

const problemsOf = async (files: Record<string, string>) => (await checkDependencies(await projectOf(files))).problems;

describe("the direction of imports", () => {
  it("is kept by a project that keeps it", async () => {
    const report = await checkDependencies(
      await projectOf({
        "errors.ts": "export const a = 1;",
        "database/pool.ts": 'import pg from "pg"; import { a } from "../errors.ts"; export const b = [pg, a];',
        "http/app.ts": 'import { b } from "../database/pool.ts"; export const c = b;',
      }),
    );
    expect(report).toEqual({ modules: 3, problems: [] });
  });

  it("is not kept by imports from a level above, cycles, even of types alone, or a library from another room", async () => {
    const problems = await problemsOf({
      "http/app.ts": "export type A = 1;",
      "database/pool.ts": 'import type { A } from "../http/app.ts"; export type B = A;',
      "tenancy/a.ts": 'import type { B } from "./b.ts"; export type A = B | 1;',
      "tenancy/b.ts": 'import type { A } from "./a.ts"; export type B = A | 2;',
      "http/pg.ts": 'import pg from "pg"; export const a = pg;',
      "http/jose.ts": 'import * as jose from "jose"; export const a = jose;',
      "auth/express.ts": 'import type { Request } from "express"; export type A = Request;',
    });
    expect(problems.map((problem) => problem.replace(/-> \.\.\/\.\.\/node_modules.*/, "-> …")).sort()).toEqual([
      "direction-database: src/database/pool.ts -> src/http/app.ts",
      "no-cycles: src/tenancy/a.ts -> src/tenancy/b.ts -> src/tenancy/a.ts",
      "only-auth-imports-jose: src/http/jose.ts -> …",
      "only-database-imports-pg: src/http/pg.ts -> …",
      "only-http-imports-express: src/auth/express.ts -> …",
    ]);
  });

  it("is not taken for kept when nothing was read", async () => {
    expect(await problemsOf({ "a.md": "" })).toEqual(["dependency-cruiser read 0 modules, but src/ has 0 files"]);
  });

  it("is not taken for kept when hardly an import was understood", async () => {
    const files = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`${name}.ts`, "export const a = 1;"]));
    expect(await problemsOf(files)).toEqual([
      "dependency-cruiser found 0 imports in 4 modules: it does not understand them",
    ]);
  });
});
