import type { Command } from "commander";
import { connectSql } from "../database/sql-connection.ts";
import { runDoctor, type Finding } from "../doctor/doctor.ts";
import { formatZeroCount } from "../doctor/zero-count-report.ts";
import { zeroCount } from "../doctor/zero-count.ts";
import { requireUrl } from "../config.ts";
import { formatProbeReport } from "../testing/probe-report.ts";
import { probe } from "../testing/probe.ts";
import { loadApp } from "./load-app.ts";
import { print } from "./output.ts";
import { withOwner, withServers } from "./with-servers.ts";

interface Json {
  readonly json?: boolean;
}

export function addChecks(program: Command): void {
  program
    .command("doctor")
    .description("look through the catalog for every way in which one tenant could reach another")
    .option("--suppress <keys...>", "keys of findings that are meant to be")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExits with 1 when there is a finding of level error.\n\nExample:\n  rowhouse doctor --json",
    )
    .action(({ suppress = [], json }: Json & { suppress?: string[] }) =>
      withOwner(async (owner, { config: { rolePrefix } }) => {
        const findings = await runDoctor(owner, { rolePrefix, suppress });
        print(findings, json, () => showFindings(findings));
        if (findings.some((finding) => finding.level === "error")) process.exitCode = 1;
      }),
    );

  program
    .command("zero-count")
    .description("prove that the application's role sees no row without a tenant")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExits with 1 unless every tenant table is proven.\n\nExample:\n  rowhouse zero-count")
    .action(({ json }: Json) =>
      withOwner(async (owner, { config: { rolePrefix }, servers }) => {
        await using app = await connectSql(servers.urls.app, "rowhouse zero-count");
        const report = await zeroCount({ app, owner, rolePrefix });
        print(report, json, () => formatZeroCount(report).trimEnd());
        if (report.verdict !== "passed") process.exitCode = 1;
      }),
    );

  program
    .command("probe")
    .description("prove for every route that one tenant's ids are worth nothing to another")
    .requiredOption("--app <module>", "a JavaScript module that exports `features`")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nMakes two tenants for each route and removes them again: for a test database, not for customers' data.\n" +
        "Exits with 1 when a route fails, or cannot be probed and does not say why.\n\n" +
        "Example:\n  rowhouse probe --app ./dist/app.js",
    )
    .action(({ app, json }: Json & { app: string }) =>
      withServers(async ({ servers: { urls } }) => {
        const { features } = await loadApp(app);
        const report = await probe({ features, url: urls.app, ownerUrl: requireUrl(urls, "owner") });
        print(report, json, () => formatProbeReport(report));
        if (!report.passed) process.exitCode = 1;
      }),
    );
}

function showFindings(findings: readonly Finding[]): string {
  const blocks = findings.map((finding) =>
    [
      `${finding.level.toUpperCase()} ${finding.rule}: ${finding.detail}`,
      `  fix: ${finding.remediation}`,
      `  key: ${finding.key}`,
    ].join("\n"),
  );
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length;
  return [...blocks, `${count("error")} errors, ${count("warning")} warnings, ${count("info")} notes`].join("\n\n");
}
