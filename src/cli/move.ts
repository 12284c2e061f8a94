import { type Command, InvalidArgumentError, Option } from "commander";
import { requireUrl } from "../config.ts";
import { type MoveReport, type MoveStep, moveTenant, planTenantMove } from "../lifecycle/move/move-tenant.ts";
import type { MovePlan } from "../lifecycle/move/plan-move.ts";
import { print, table } from "./output.ts";
import { toFolder } from "./provisioning.ts";
import { withServers } from "./with-servers.ts";

interface MoveFlags {
  readonly to: "shared" | "schema";
  readonly migrations?: string[];
  readonly dryRun?: boolean;
  readonly keepSource?: boolean;
  readonly lockWait?: number;
  readonly json?: boolean;
}

export function addMove(tenant: Command): void {
  tenant
    .command("move")
    .description("move a tenant into a schema of its own, or back; run again, it goes on where it was stopped")
    .argument("<tenant>", "slug or id")
    .addOption(
      new Option("--to <where>", "where its rows are to live").choices(["shared", "schema"]).makeOptionMandatory(),
    )
    .option("--migrations <folders...>", "into a schema: the folders that `rowhouse migrate` gets")
    .option("--dry-run", "print what would be done and what stands in its way; exits with 1 when something does")
    .option("--keep-source", "leave the rows where they came from as well")
    .option("--lock-wait <seconds>", "how long to wait for the tenant's running transactions (default: 30)", toSeconds)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample:\n  rowhouse tenant move acme --to schema --migrations shop=./migrations --dry-run\n" +
        "  rowhouse tenant move acme --to shared",
    )
    .action((slugOrId: string, flags: MoveFlags) => move(slugOrId, flags));
}

function move(slugOrId: string, { to, migrations = [], dryRun, keepSource = false, lockWait, json }: MoveFlags) {
  return withServers(async ({ config: { rolePrefix }, servers: { urls } }) => {
    const options = {
      to,
      keepSource,
      rolePrefix,
      ownerUrl: requireUrl(urls, "owner"),
      adminUrl: urls.admin,
      folders: migrations.map(toFolder),
      ...(lockWait === undefined ? {} : { lockWait: lockWait * 1_000 }),
    };
    if (dryRun) {
      const plan = await planTenantMove(slugOrId, options);
      print(plan, json, () => showPlan(plan));
      if (plan.problems.length > 0) process.exitCode = 1;
      return;
    }
    const report = await moveTenant(slugOrId, { ...options, onStep: showStep() });
    print(report, json, () => showReport(report));
  });
}

function showPlan({ tenant, to, tables, steps, problems }: MovePlan): string {
  const rows = table(
    ["TABLE", "ROWS"],
    tables.map(({ name, rows }) => [name, rows]),
  );
  return [
    `${tenant.slug} (${tenant.id}): ${tenant.placement} -> ${to}`,
    ...(tables.length > 0 ? ["", rows] : []),
    "",
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    "",
    ...(problems.length > 0
      ? ["in the way:", ...problems.map((problem) => `- ${problem}`)]
      : ["nothing is in the way"]),
  ].join("\n");
}

/** Steps go to the error output: the other one is for the result. */
function showStep(): (step: MoveStep) => void {
  let erased = 0;
  return ({ step, table: name, rows }) => {
    if (step === "done") return;
    if (rows !== undefined) erased += rows;
    const what = [step, name, rows === undefined ? undefined : `${erased} rows so far`].filter(Boolean).join(" ");
    process.stderr.write(`${what}\n`);
  };
}

function showReport({ tenant, isMoved, tables, pause, erased }: MoveReport): string {
  const count = tables.reduce((sum, { rows }) => sum + rows, 0);
  return [
    isMoved
      ? `moved ${count} rows of ${tables.length} tables; the tenant's requests were held back for ${pause} ms`
      : `the tenant has the placement "${tenant.placement}" already`,
    ...(erased > 0 ? [`erased ${erased} rows from the shared tables`] : []),
    `${tenant.slug} lives in "${tenant.placement}" now, with epoch ${tenant.epoch}`,
  ].join("\n");
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,4}(\.\d+)?$/.test(text) && seconds > 0) return seconds;
  throw new InvalidArgumentError("It must be a number of seconds above 0, at most 9999.");
}
