import type { Database, LookupName } from "../../src/database/types.ts";
import type { Tenant } from "../../src/tenancy/tenant.ts";

export const ACME: Tenant = {
  id: "0198c7f0-1111-7000-8000-00000000000a",
  slug: "acme",
  name: "Acme",
  status: "active",
  placement: "shared",
  epoch: 1,
};
export const GLOBEX: Tenant = { ...ACME, id: "0198c7f0-2222-7000-8000-00000000000b", slug: "globex", name: "Globex" };
export const NOBODY = "0198c7f0-3333-7000-8000-00000000000c";

export interface FakeDatabase extends Database {
  tenants: Tenant[];
  domains: Record<string, Tenant>;
  apiKeys: Record<string, { id: string; tenant_id: string; secret_hash: Buffer; scopes: string[] }>;
  /** The look-ups so far: `["find_tenant_by_slug acme"]`. */
  readonly asked: string[];
  /** Look-ups wait for this before they answer. */
  hold: Promise<void> | undefined;
  /** Look-ups fail with this. */
  failure: Error | undefined;
}

const refuse = (): never => {
  throw new Error("only look-ups are faked");
};

/** A database that knows Acme and Globex, and counts what it is asked before a tenant is known. */
export function fakeDatabase(): FakeDatabase {
  const answer = (name: LookupName, value: string): object | undefined => {
    switch (name) {
      case "find_tenant_by_id":
        return fake.tenants.find((tenant) => tenant.id === value);
      case "find_tenant_by_slug":
        return fake.tenants.find((tenant) => tenant.slug === value);
      case "find_tenant_by_domain":
        return fake.domains[value];
      case "find_api_key":
        return fake.apiKeys[value];
      case "missing_migrations":
        return refuse();
    }
  };
  const fake: FakeDatabase = {
    tenants: [ACME, GLOBEX],
    domains: { "billing.acme.example": ACME },
    apiKeys: {},
    asked: [],
    hold: undefined,
    failure: undefined,
    async lookup<Row extends object>(name: LookupName, values: readonly unknown[]) {
      fake.asked.push(`${name} ${values.join(" ")}`);
      const row = answer(name, String(values[0]));
      await fake.hold;
      if (fake.failure) throw fake.failure;
      return row === undefined ? undefined : ({ ...row } as Row);
    },
    whenStale: () => {},
    notify: () => Promise.resolve(),
    open: refuse,
    assertSafeRole: refuse,
    ping: refuse,
    close: refuse,
  };
  return fake;
}
