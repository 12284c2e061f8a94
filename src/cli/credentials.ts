import { type Command, InvalidArgumentError } from "commander";
import { sharedTokens } from "../auth/development-tokens.ts";
import { signToken } from "../auth/sign-token.ts";
import { createApiKey, listApiKeys, revokeApiKey, type ApiKeyRecord } from "../lifecycle/api-keys.ts";
import { findTenant } from "../lifecycle/tenants.ts";
import { print, table } from "./output.ts";
import { withOwner } from "./with-servers.ts";

interface Json {
  readonly json?: boolean;
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `90s`, `15m`, `8h`, `30d`: seconds. */
function duration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit ?? ""] ?? 0);
  if (seconds > 0) return seconds;
  throw new InvalidArgumentError("Give a number and s, m, h or d: 90s, 15m, 8h, 30d.");
}

const collect = (scope: string, scopes: readonly string[]) => [...scopes, scope];

const show = (keys: readonly ApiKeyRecord[]): string =>
  table(
    ["PREFIX", "NAME", "SCOPES", "CREATED", "EXPIRES", "REVOKED", "LAST USED"],
    keys.map((key) => [
      key.prefix,
      key.name,
      key.scopes.join(" "),
      key.createdAt,
      key.expiresAt,
      key.revokedAt,
      key.lastUsedAt,
    ]),
  );

export function addCredentials(program: Command): void {
  program
    .command("token")
    .description("sign a bearer token, for development")
    .argument("<tenant>", "slug or id")
    .option("--subject <id>", "who it stands for", "developer")
    .option("--scope <scope>", "a scope it carries; may be repeated", collect, [])
    .option("--expires-in <duration>", "how long it is good for", duration, 28_800)
    .addHelpText("after", "\nExample:\n  rowhouse token acme --scope read --scope write --expires-in 8h")
    .action((slugOrId: string, options: { subject: string; scope: string[]; expiresIn: number }) =>
      withOwner(async (owner, { config }) => {
        const tenant = await findTenant(owner, slugOrId);
        const { subject, scope: scopes, expiresIn } = options;
        const tokens = await sharedTokens(config);
        console.log(await signToken({ ...tokens, subject, tenantId: tenant.id, scopes, expiresIn }));
      }),
    );

  const key = program.command("key").description("create, list and revoke API keys");

  key
    .command("create")
    .description("make an API key and show it, once")
    .argument("<tenant>", "slug or id")
    .requiredOption("--name <name>", "what it is for")
    .option("--scope <scope>", "a scope it carries; may be repeated", collect, [])
    .option("--expires-in <duration>", "how long it is good for (default: for ever)", duration)
    .option("--json", "print JSON")
    .addHelpText("after", '\nExample:\n  rowhouse key create acme --name "ERP sync" --scope write --expires-in 90d')
    .action((slugOrId: string, options: Json & { name: string; scope: string[]; expiresIn?: number }) =>
      withOwner(async (owner) => {
        const tenant = await findTenant(owner, slugOrId);
        const made = await createApiKey(owner, tenant.id, {
          name: options.name,
          scopes: options.scope,
          expiresIn: options.expiresIn,
        });
        print(
          made,
          options.json,
          () => `${made.key}\nIt is shown this once. Revoke it with: rowhouse key revoke ${made.prefix}`,
        );
      }),
    );

  key
    .command("list")
    .description("show a tenant's API keys")
    .argument("<tenant>", "slug or id")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse key list acme")
    .action((slugOrId: string, { json }: Json) =>
      withOwner(async (owner) => {
        const keys = await listApiKeys(owner, (await findTenant(owner, slugOrId)).id);
        print(keys, json, () => show(keys));
      }),
    );

  key
    .command("revoke")
    .description("revoke an API key, effective at once")
    .argument("<prefix>", "the part between the first and the second _")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse key revoke 0k3v9m2x7q4t")
    .action((prefix: string, { json }: Json) =>
      withOwner(async (owner) => {
        const revoked = await revokeApiKey(owner, prefix);
        print(revoked, json, () => show([revoked]));
      }),
    );
}
