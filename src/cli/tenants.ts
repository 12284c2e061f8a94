import type { Command } from "commander";
import { createTenant, listTenants, resumeTenant, suspendTenant, type TenantRecord } from "../lifecycle/tenants.ts";
import { print, table } from "./output.ts";
import { withOwner } from "./with-servers.ts";

interface Json {
  readonly json?: boolean;
}

const show = (tenants: readonly TenantRecord[]): string =>
  table(
    ["SLUG", "ID", "NAME", "STATUS", "PLACEMENT", "CREATED"],
    tenants.map((tenant) => [tenant.slug, tenant.id, tenant.name, tenant.status, tenant.placement, tenant.createdAt]),
  );

export function addTenants(program: Command): void {
  const tenant = program.command("tenant").description("create, list, suspend and resume tenants");

  tenant
    .command("create")
    .description("make a tenant")
    .argument("<slug>", "1 to 63 lower-case letters, digits and -")
    .option("--name <name>", "the customer's name (default: the slug)")
    .option("--json", "print JSON")
    .addHelpText("after", '\nExample:\n  rowhouse tenant create acme --name "Acme Inc."')
    .action((slug: string, { name, json }: Json & { name?: string }) =>
      withOwner(async (owner) => {
        const made = await createTenant(owner, { slug, name });
        print(made, json, () => show([made]));
      }),
    );

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
}
