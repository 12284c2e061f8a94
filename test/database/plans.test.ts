import path from "node:path";
import { desc, eq, type SQL, sql } from "drizzle-orm";
import { PgDialect, QueryBuilder } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantRef } from "../../src/database/types.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { notes, noteTags } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

// Without a tenant filter in the query, the index has to serve: in the shared tables by the policy's condition, in a dedicated
// schema because tenant_id stands last. Rows enough that reading all of them would cost more.

const FOLDERS = [{ source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") }];
const ROWS = 5_000;

let server: TestDatabase;
let database: Database;
let tenants: Record<"shared" | "schema", TenantRef>;
let id: string;

const fill = (schema: string, tenant: string) => `
  insert into ${schema}.notes (tenant_id, body) select '${tenant}', 'note ' || n from generate_series(1, ${ROWS}) n;
  insert into ${schema}.note_tags (tenant_id, note_id, tag) select tenant_id, id, 'tag' from ${schema}.notes;
  analyze ${schema}.notes, ${schema}.note_tags`;

beforeAll(async () => {
  server = await createTestDatabase();
  const { appUrl: url, provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  const options = { url, poolSize: 1, tenantLimit: 1, preparedStatements: true, applicationName: "test" };
  database = createDatabase({ ...options, onError: () => {} });
  await using owner = await server.connectAsOwner();
  const dedicated = await createDedicatedTenant(
    owner,
    { slug: "big" },
    { adminUrl, ownerUrl, rolePrefix, folders: FOLDERS },
  );
  const shared = await server.createTenant();
  tenants = { shared: { id: shared.id, placement: "shared", epoch: 1 }, schema: dedicated };
  await owner.query(fill(`t_${dedicated.id.replaceAll("-", "")}`, dedicated.id));
  for (const tenant of [shared, await server.createTenant()]) await owner.query(fill("public", tenant.id));
  id = dedicated.id;
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

interface Plan {
  readonly "Node Type": string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly Plan[];
}

/** The plan's nodes, as the tenant's transaction sees it. */
async function planOf(tenant: TenantRef, query: { getSQL(): SQL }): Promise<Plan[]> {
  const { sql: text, params } = new PgDialect().sqlToQuery(query.getSQL());
  const inlined = text.replace(/\$(\d+)/g, (_, n: string) => {
    const value = params[Number(n) - 1];
    return typeof value === "number" ? String(value) : `'${String(value)}'`;
  });
  const transaction = database.open(tenant, { readOnly: true });
  const { rows } = await transaction.db.execute<{ "QUERY PLAN": [{ Plan: Plan }] }>(`explain (format json) ${inlined}`);
  await transaction.rollback();
  const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
  return nodes(rows[0]!["QUERY PLAN"][0].Plan);
}

const select = new QueryBuilder();
const QUERIES: [what: string, column: string, query: () => { getSQL(): SQL }][] = [
  ["a row by its id", "id", () => select.select().from(notes).where(eq(notes.id, id))],
  [
    "rows by a foreign key",
    "note_id",
    () =>
      select
        .select()
        .from(noteTags)
        .where(sql`note_id = ${id}`),
  ],
  ["a row by a unique value", "body", () => select.select().from(notes).where(eq(notes.body, "note 17"))],
];

describe.each(["shared", "schema"] as const)("in the placement %s", (placement) => {
  it.each(QUERIES)("an index finds %s", async (_what, column, query) => {
    const plan = await planOf(tenants[placement], query());
    expect(plan.map((node) => node["Node Type"])).not.toContain("Seq Scan");
    expect(plan.some((node) => node["Index Cond"]?.includes(column))).toBe(true);
  });

  it("an index gives the newest rows in order, without sorting", async () => {
    const plan = await planOf(tenants[placement], select.select().from(notes).orderBy(desc(notes.id)).limit(20));
    const kinds = plan.map((node) => node["Node Type"]);
    expect(kinds).toContain("Index Scan");
    expect(kinds).not.toContain("Sort");
  });
});
