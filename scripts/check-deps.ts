/**
 * Checks the direction of imports (ARCHITECTURE.md, .dependency-cruiser.cjs) over src/.
 *
 *   npm run check:deps
 *
 * It also fails when the tool saw fewer modules than there are files, or hardly an import among them: a tool that reads
 * nothing finds nothing, and says so with exit code 0.
 */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const ROOT = path.resolve(import.meta.dirname, "..");
const TOOL = path.join(ROOT, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");

interface CruiseResult {
  modules: { source: string; dependencies: unknown[] }[];
  summary: {
    violations: { from: string; to: string; rule: { name: string; severity: string }; cycle?: { name: string }[] }[];
  };
}

export interface DependencyReport {
  /** Modules of src/ that were read. */
  readonly modules: number;
  /** One line each; none when all is well. */
  readonly problems: readonly string[];
}

/** Checks the src/ below `root` against the rules of this project. */
export async function checkDependencies(root: string): Promise<DependencyReport> {
  const { modules, summary } = await cruise(root);
  const own = modules.filter((module) => module.source.startsWith("src/"));
  const imports = own.reduce((sum, module) => sum + module.dependencies.length, 0);
  const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  ).length;

  const problems = summary.violations.map(
    ({ rule, from, to, cycle }) => `${rule.name}: ${[from, ...(cycle?.map((step) => step.name) ?? [to])].join(" -> ")}`,
  );
  if (files === 0 || own.length < files) {
    problems.push(`dependency-cruiser read ${own.length} modules, but src/ has ${files} files`);
  }
  // Two out of three files import something; a lone file may well not.
  if (imports < own.length / 2) {
    problems.push(`dependency-cruiser found ${imports} imports in ${own.length} modules: it does not understand them`);
  }
  return { modules: own.length, problems };
}

async function cruise(root: string): Promise<CruiseResult> {
  const config = path.join(ROOT, ".dependency-cruiser.cjs");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [TOOL, "src", "--config", config, "--ts-config", path.join(ROOT, "tsconfig.json"), "--output-type", "json"],
    { cwd: root, maxBuffer: 256 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as CruiseResult;
}

async function main(): Promise<void> {
  const { modules, problems } = await checkDependencies(ROOT);
  console.log(`${modules} modules`);
  if (problems.length === 0) return;
  console.error(problems.join("\n"));
  process.exitCode = 1;
}

if (process.argv[1] && path.resolve(process.argv[1]) === import.meta.filename) await main();
