import type { SqlConnection } from "../database/sql-connection.ts";
import { ConnectionLost } from "../errors.ts";
import { type CatalogOptions, ruleNames, ruleQuery, type RuleName } from "./catalog.ts";

/** error: rows of one tenant are, or can come, within another's reach. warning: only if something else is wrong too. */
export type FindingLevel = "error" | "warning" | "info";

/** Something that a rule (policies/lints) found. policies/docs has a page on each rule. */
export interface Finding {
  readonly rule: RuleName;
  readonly level: FindingLevel;
  readonly schema: string | null;
  /** The table, view, function, role, … that it is about; null where the schema itself is meant. */
  readonly object: string | null;
  readonly detail: string;
  readonly remediation: string;
  /** Names this finding on this object, for `suppress`. It changes when what was found changes. */
  readonly key: string;
}

export interface DoctorOptions extends CatalogOptions {
  /** Keys of findings that were looked at and are meant to be. */
  readonly suppress?: readonly string[];
}

const LEVELS: readonly FindingLevel[] = ["error", "warning", "info"];

/**
 * Runs every rule on a database's catalog. It reads no rows and changes nothing.
 *
 * @param connection connects as the owner role
 * @returns the findings, the worst first; none when everything is as it should be
 * @throws ConnectionLost; a rule that fails for another reason is a finding, which cannot be suppressed
 */
export async function runDoctor(connection: SqlConnection, options: DoctorOptions = {}): Promise<Finding[]> {
  const suppressed = new Set(options.suppress);
  const findings: Finding[] = [];
  // The path decides how the server prints names in expressions.
  const before = await setSearchPath(connection, "");
  try {
    for (const rule of ruleNames) findings.push(...(await runRule(connection, rule, options, suppressed)));
  } finally {
    await setSearchPath(connection, before);
  }
  return findings.sort(compareFindings);
}

async function setSearchPath(connection: SqlConnection, path: string): Promise<string> {
  const { rows } = await connection.query<{ before: string }>(
    "select pg_catalog.current_setting('search_path') as before, pg_catalog.set_config('search_path', $1, false)",
    [path],
  );
  return rows[0]!.before;
}

async function runRule(
  connection: SqlConnection,
  rule: RuleName,
  options: CatalogOptions,
  suppressed: ReadonlySet<string>,
): Promise<Finding[]> {
  const { text, values } = ruleQuery(rule, options);
  try {
    const { rows } = await connection.query<Finding>(text, values);
    return rows.filter((finding) => !suppressed.has(finding.key));
  } catch (error) {
    if (error instanceof ConnectionLost) throw error;
    return [failedRule(rule, error)];
  }
}

function failedRule(rule: RuleName, error: unknown): Finding {
  return {
    rule,
    level: "error",
    schema: null,
    object: null,
    detail: `The rule could not be run, so nothing is known of what it looks for: ${innermostMessage(error)}`,
    remediation: "Run the doctor as the owner role, on a database that `rowhouse migrate` has brought up to date.",
    key: `${rule}:failed`,
  };
}

function innermostMessage(error: unknown): string {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function compareFindings(a: Finding, b: Finding): number {
  return LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || compareText(a.key, b.key);
}
