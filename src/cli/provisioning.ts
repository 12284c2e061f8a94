import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { readConfig, requireUrl, tryDatabaseUrl } from "../config.ts";
import { ConfigInvalid } from "../errors.ts";
import { initDatabase } from "../migrations/init-database.ts";
import { migrate } from "../migrations/migrate.ts";
import { print } from "./output.ts";
import { withServers } from "./with-servers.ts";

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

  program
    .command("migrate")
    .description(
      "apply the framework's migrations and those of the folders, then put the wall around every tenant table",
    )
    .argument("[folders...]", "folders of drizzle-kit; a folder's name, or NAME=PATH, is kept in the ledger")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse migrate shop=./migrations")
    .action((folders: string[], { json }: { json?: boolean }) =>
      withServers(async ({ config: { rolePrefix }, servers }) => {
        const report = await migrate({
          ownerUrl: requireUrl(servers.urls, "owner"),
          rolePrefix,
          folders: folders.map(toFolder),
        });
        print(report, json, () =>
          [
            ...report.applied.map((id) => `applied ${id}`),
            ...report.secured.map((name) => `secured ${name}`),
            report.applied.length + report.secured.length === 0 ? "nothing to do" : "done",
          ].join("\n"),
        );
      }),
    );
}

/** @returns undefined where the URL has none */
function passwordIn(variable: string, url: string | undefined): string | undefined {
  const password = tryDatabaseUrl(url ?? "")?.password ?? "";
  try {
    return decodeURIComponent(password) || undefined;
  } catch {
    throw new ConfigInvalid(`The password in ${variable} is not percent-encoded. Write "%" as "%25" in it.`);
  }
}

function toFolder(argument: string): { source: string; path: string } {
  const at = argument.indexOf("=");
  if (at < 0) return { source: basename(resolve(argument)), path: resolve(argument) };
  return { source: argument.slice(0, at), path: resolve(argument.slice(at + 1)) };
}
