import type { TableVerdict, ZeroCountReport } from "./zero-count.ts";

const VERDICTS: readonly TableVerdict[] = ["failed", "unproven", "unreachable", "proven"];

/** The report for people: one line a table, the worst first, and a last line with the verdict. Ends with a line end. */
export function formatZeroCount(report: ZeroCountReport): string {
  const tables = [...report.tables].sort((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict));
  const width = Math.max(...tables.map((table) => table.table.length));
  return [
    `Zero-count of database "${report.database}" as "${report.role}", without a tenant`,
    "",
    ...tables.map(({ verdict, table, reason }) => `  ${verdict.padEnd(11)}  ${table.padEnd(width)}  ${reason}`),
    "",
    conclusion(report),
    "",
  ].join("\n");
}

function conclusion({ verdict, tables }: ZeroCountReport): string {
  const named = (wanted: TableVerdict) =>
    tables.filter((table) => table.verdict === wanted).map((table) => table.table);
  const proven = `${named("proven").length} of ${tables.length} tables are proven`;
  if (verdict === "failed") return `FAILED: the wall does not hold on ${named("failed").join(", ")}.`;
  if (verdict === "passed") return `PASSED: ${proven}, the others are out of the application's reach.`;
  if (tables.length === 0) return "UNPROVEN: there is no tenant table.";
  return `UNPROVEN: ${proven}; not ${named("unproven").join(", ")}. Put rows of two tenants into them and run this again.`;
}
