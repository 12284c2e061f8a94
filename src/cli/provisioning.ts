import { basename, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { readConfig, requireUrl, tryDatabaseUrl } from "../config.ts";
import { ConfigInvalid } from "../errors.ts";
import { initDatabase } from "../migrations/init-database.ts";
import { migrate, type MigrationReport } from "../migrations/migrate.ts";
import { migrationStatus, type TargetStatus } from "../migrations/migration-status.ts";
import { print, table } from "./output.ts";
import { withOwner, withServers } from "./with-servers.ts";

export function addProvisioning(program: Command): void {
  program
    .command("init-database")
    .description("make the database's roles and grants, as an administrator (ADMIN_DATABASE_URL)")
    .addHelpText(
      "after",
      "\nPasswords are those of DATABASE_URL, OWNER_DATABASE_URL and WORKER_DATABASE_URL; where one is missing, the role\n" +
        "keeps what it has.\n\nExample:\n  rowhouse init-database",
    )
    .action(async () => {
      const { urls, rolePrefix } = readConfig();
      if (urls?.admin === undefined) {
        throw new ConfigInvalid(
          "Set ADMIN_DATABASE_URL, DATABASE_URL and OWNER_DATABASE_URL: this makes the latter two's roles.",
        );
      }
      await initDatabase({
        adminUrl: urls.admin,
        rolePrefix,
        passwords: {
          owner: passwordIn("OWNER_DATABASE_URL", urls.owner),
          app: passwordIn("DATABASE_URL", urls.app),
          worker: passwordIn("WORKER_DATABASE_URL", urls.worker),
        },
      });
      console.log(
        `Roles ${rolePrefix}_owner, ${rolePrefix}_app and ${rolePrefix}_worker are ready. Next: rowhouse migrate.`,
      );
    });

  addMigrateOptions(program.command("migrate"))
    .description(
      "apply the framework's migrations and those of the folders, then put the wall around every tenant table",
    )
    .addHelpText("after", "\nExample:\n  rowhouse migrate shop=./migrations")
    .action((folders: string[], options: MigrateFlags) => runMigrations(folders, options));

  const migrations = program.command("migrations").description("migrate many schemas: status, up, resume, retry");
  for (const [name, only, description] of [
    ["up", undefined, "the same as `rowhouse migrate`"],
    ["resume", "untried", "go on with the schemas that have not failed"],
    ["retry", "failed", "try the schemas again that have failed"],
  ] as const) {
    addMigrateOptions(migrations.command(name))
      .description(description)
      .addHelpText("after", `\nExample:\n  rowhouse migrations ${name} shop=./migrations`)
      .action((folders: string[], options: MigrateFlags) => runMigrations(folders, options, only));
  }
  migrations
    .command("status")
    .description("how far each schema is; exits with 1 unless all are current")
    .argument("[folders...]", FOLDERS)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse migrations status shop=./migrations")
    .action((folders: string[], { json }: MigrateFlags) =>
      withOwner(async (owner) => {
        const status = await migrationStatus(owner, folders.map(toFolder));
        print(status, json, () => showStatus(status));
        if (status.some(({ state }) => state !== "current")) process.exitCode = 1;
      }),
    );
}

interface MigrateFlags {
  readonly json?: boolean;
  readonly parallel?: number;
  readonly keepGoing?: boolean;
}

const FOLDERS = "folders of drizzle-kit; a folder's name, or NAME=PATH, is kept in the ledger";

const addMigrateOptions = (command: Command): Command =>
  command
    .argument("[folders...]", FOLDERS)
    .option("--parallel <n>", "dedicated schemas at work at the same time (default: 4)", toCount)
    .option("--keep-going", "go on with the other dedicated schemas when one fails")
    .option("--json", "print JSON");

function toCount(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 99.");
}

function runMigrations(folders: string[], { json, ...flags }: MigrateFlags, only?: "failed" | "untried") {
  return withServers(async ({ config: { rolePrefix }, servers }) => {
    const ownerUrl = requireUrl(servers.urls, "owner");
    const wanted = only === undefined ? {} : { only };
    const report = await migrate({ ownerUrl, rolePrefix, folders: folders.map(toFolder), ...flags, ...wanted });
    print(report, json, () => showReport(report));
  });
}

function showReport({ applied, secured, dedicated }: MigrationReport): string {
  const lines = [
    ...applied.map((id) => `applied ${id}`),
    ...secured.map((name) => `secured ${name}`),
    ...dedicated.map((schema) => `${schema.target}: ${schema.applied.join(", ") || "secured"}`),
  ];
  return [...lines, lines.length === 0 ? "nothing to do" : "done"].join("\n");
}

const showStatus = (status: readonly TargetStatus[]): string =>
  table(
    ["TARGET", "STATE", "PENDING", "ATTEMPTS", "ERROR"],
    status.map((target) => [
      target.target,
      target.state,
      target.pending.length,
      target.attempts ?? "",
      target.error?.split("\n", 1)[0] ?? "",
    ]),
  );

/** @returns undefined where the URL has none */
function passwordIn(variable: string, url: string | undefined): string | undefined {
  const password = tryDatabaseUrl(url ?? "")?.password ?? "";
  try {
    return decodeURIComponent(password) || undefined;
  } catch {
    throw new ConfigInvalid(`The password in ${variable} is not percent-encoded. Write "%" as "%25" in it.`);
  }
}

/** A folder of migrations as an argument names it: PATH, or NAME=PATH. */
export function toFolder(argument: string): { source: string; path: string } {
  const at = argument.indexOf("=");
  if (at < 0) return { source: basename(resolve(argument)), path: resolve(argument) };
  return { source: argument.slice(0, at), path: resolve(argument.slice(at + 1)) };
}
