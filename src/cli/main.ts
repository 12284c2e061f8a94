#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { RowhouseError } from "../errors.ts";
import { addChecks } from "./checks.ts";
import { addCredentials } from "./credentials.ts";
import { addJobs } from "./jobs.ts";
import { addProvisioning } from "./provisioning.ts";
import { addTenants } from "./tenants.ts";
import { addWorker } from "./worker.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const program = new Command("rowhouse")
  .description("Multi-tenant backends on PostgreSQL. With no DATABASE_URL, the project's embedded PostgreSQL is used.")
  .version(version)
  .option("--verbose", "show the stack of an error")
  .showHelpAfterError("(add --help for the usage)")
  .exitOverride();

addProvisioning(program);
addTenants(program);
addCredentials(program);
addWorker(program);
addJobs(program);
addChecks(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Says what went wrong. @returns the exit code: 2 for a wrong call, 1 for everything else */
function report(error: unknown): number {
  // commander has printed its own message, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const code = error instanceof RowhouseError ? error.code : "ERR_INTERNAL";
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `\n  because: ${error.cause.message}` : "";
  process.stderr.write(`error [${code}] ${message}${cause}\n`);
  if (program.opts<{ verbose?: boolean }>().verbose) process.stderr.write(`${stacks(error)}\n`);
  return 1;
}

/** Stacks only: what else hangs on an error can be a URL with its password, or a customer's row. */
function stacks(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\ncaused by ${stacks(error.cause)}`;
}
