import { type Command, Option } from "commander";
import { requireUrl } from "../config.ts";
import {
  createDedicatedTenant,
  createTenant,
  listTenants,
  resumeTenant,
  suspendTenant,
  type TenantRecord,
} from "../lifecycle/tenants.ts";
import { addAdvise } from "./advise.ts";
import { addMove } from "./move.ts";
import { print, table } from "./output.ts";
import { toFolder } from "./provisioning.ts";
import { withOwner } from "./with-servers.ts";

interface Json {
  readonly json?: boolean;
}

interface CreateFlags extends Json {
  readonly name?: string;
  readonly placement: "shared" | "schema";
  readonly migrations?: string[];
}

function create(slug: string, { name, placement, migrations = [], json }: CreateFlags): Promise<void> {
  return withOwner(async (owner, { config: { rolePrefix }, servers: { urls } }) => {
    const made =
      placement === "shared"
        ? await createTenant(owner, { slug, name })
        : await createDedicatedTenant(
            owner,
            { slug, name },
            {
              adminUrl: requireUrl(urls, "admin"),
              ownerUrl: requireUrl(urls, "owner"),
              rolePrefix,
              folders: migrations.map(toFolder),
            },
          );
    print(made, json, () => show([made]));
  });
}

const show = (tenants: readonly TenantRecord[]): string =>
  table(
    ["SLUG", "ID", "NAME", "STATUS", "PLACEMENT", "CREATED"],
    tenants.map((tenant) => [tenant.slug, tenant.id, tenant.name, tenant.status, tenant.placement, tenant.createdAt]),
  );

export function addTenants(program: Command): void {
  const tenant = program.command("tenant").description("create, list, suspend, resume and move tenants");

  tenant
    .command("create")
    .description("make a tenant")
    .argument("<slug>", "1 to 63 lower-case letters, digits and -")
    .option("--name <name>", "the customer's name (default: the slug)")
    .addOption(new Option("--placement <where>", "where its rows live").choices(["shared", "schema"]).default("shared"))
    .option("--migrations <folders...>", "for a schema of its own: the folders that `rowhouse migrate` gets")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      '\nExample:\n  rowhouse tenant create acme --name "Acme Inc."\n' +
        "  rowhouse tenant create globex --placement schema --migrations shop=./migrations",
    )
    .action((slug: string, options: CreateFlags) => create(slug, options));

  tenant
    .command("list")
    .description("show every tenant")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse tenant list --json")
    .action(({ json }: Json) =>
      withOwner(async (owner) => {
        const tenants = await listTenants(owner);
        print(tenants, json, () => show(tenants));
      }),
    );

  for (const [name, change, description] of [
    ["suspend", suspendTenant, "refuse a tenant's requests; returns once none is running"],
    ["resume", resumeTenant, "let a suspended tenant in again"],
  ] as const) {
    tenant
      .command(name)
      .description(description)
      .argument("<tenant>", "slug or id")
      .option("--json", "print JSON")
      .addHelpText("after", `\nExample:\n  rowhouse tenant ${name} acme`)
      .action((slugOrId: string, { json }: Json) =>
        withOwner(async (owner) => {
          const changed = await change(owner, slugOrId);
          print(changed, json, () => show([changed]));
        }),
      );
  }
  addMove(tenant);
  addAdvise(tenant);
}
