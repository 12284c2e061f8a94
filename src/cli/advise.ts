import { type Command, InvalidArgumentError } from "commander";
import { advisePlacement, type PlacementAdvice } from "../lifecycle/advise-placement.ts";
import { print, table } from "./output.ts";
import { withOwner } from "./with-servers.ts";

interface AdviseFlags {
  readonly watch: number;
  readonly json?: boolean;
}

/** Tenants that are shown to people; `--json` has them all. */
const SHOWN = 20;

export function addAdvise(tenant: Command): void {
  tenant
    .command("advise")
    .description("say which tenants would gain from a schema of their own, and on what evidence")
    .option("--watch <seconds>", "how long to watch transactions", toSeconds, 5)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse tenant advise --watch 60")
    .action(({ watch, json }: AdviseFlags) =>
      withOwner(async (owner) => {
        const advice = await advisePlacement(owner, { watch: watch * 1_000 });
        print(advice, json, () => show(advice));
      }),
    );
}

function show({ tables, tenants }: PlacementAdvice): string {
  const hindered = tables.flatMap(({ table: name, hindered: indexes }) =>
    indexes.map(({ index, searchesBy }) => `  ${name}: ${index}, for searching by ${searchesBy}`),
  );
  const gaining = tenants.filter(({ reasons }) => reasons.length > 0);
  const rows = table(
    ["TENANT", "PLACEMENT", "ROWS", "SHARE", "LOAD", "SHARE"],
    tenants
      .slice(0, Math.max(SHOWN, gaining.length))
      .map(({ slug, placement, rows, rowShare, load, loadShare }) => [
        ...[slug, placement, rows, percent(rowShare), load.toFixed(2), percent(loadShare)],
      ]),
  );
  return [
    hindered.length > 0
      ? `Indexes of shared tables that row-level security keeps from being used:\n${hindered.join("\n")}`
      : "No index of a shared table is kept from being used by row-level security.",
    "",
    rows,
    "",
    ...gaining.flatMap(({ slug, reasons }) => [
      `${slug} would gain from a schema of its own:`,
      ...reasons.map((reason) => `  - ${reason}`),
      `  rowhouse tenant move ${slug} --to schema --dry-run`,
    ]),
    ...(gaining.length === 0 ? ["No tenant would gain much from a schema of its own."] : []),
  ].join("\n");
}

const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,4}(\.\d+)?$/.test(text)) return seconds;
  throw new InvalidArgumentError("It must be a number of seconds from 0 to 9999.");
}
