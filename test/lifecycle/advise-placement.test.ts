import path from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { SqlConnection } from "../../src/database/sql-connection.ts";
import type { Database, TenantRef } from "../../src/database/types.ts";
import { advisePlacement } from "../../src/lifecycle/advise-placement.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { migrate } from "../../src/migrations/migrate.ts";
import { createTestDatabase, templateMigrations, type TestDatabase } from "../helpers/database.ts";

const folders = [templateMigrations, { source: "advise", path: path.join(import.meta.dirname, "../fixtures/advise") }];

/** A predicate for each index, and whether row-level security keeps it from using it. */
const SEARCHES: readonly (readonly [index: string, predicate: string, hindered: boolean])[] = [
  ["documents_title_idx", "title = 'x'", false],
  ["documents_pages_idx", "pages = 7", false],
  ["documents_created_at_idx", "created_at > '2026-01-01 00:00+00'", false],
  ["documents_prefix_idx", "title like 'x%'", true],
  ["documents_lower_idx", "lower(title) = 'x'", true],
  ["documents_state_idx", "state = 'sent'", true],
  ["documents_total_idx", "total = 7", true],
  ["documents_attributes_idx", `attributes @> '{"a": 1}'`, true],
  ["documents_tags_idx", "tags && '{a}'", true],
  ["documents_search_idx", "search @@ 'a'::tsquery", true],
];

let server: TestDatabase;
let owner: SqlConnection;
let database: Database;
let large: TenantRef;
let dedicated: TenantRef;

beforeAll(async () => {
  server = await createTestDatabase();
  const { ownerUrl, rolePrefix, provisionerUrl: adminUrl } = server;
  await migrate({ ownerUrl, rolePrefix, folders });
  owner = await server.connectAsOwner();
  database = createDatabase({
    ...{ url: server.appUrl, poolSize: 4, tenantLimit: 4, preparedStatements: true, applicationName: "test" },
    onError: () => {},
  });
  dedicated = await createDedicatedTenant(owner, { slug: "dedicated" }, { adminUrl, ownerUrl, rolePrefix, folders });
  large = { id: (await server.createTenant({ slug: "large" })).id, placement: "shared", epoch: 1 };
  const small = await server.createTenant({ slug: "small" });
  for (const [id, rows] of [
    [large.id, 30_000],
    [small.id, 50],
  ] as const) {
    await owner.query(
      "insert into public.documents (tenant_id, title) select $1, 't' || n from generate_series(1, $2::integer) n",
      [id, rows],
    );
  }
});

afterAll(async () => {
  await database.close();
  await owner.end();
  await server.drop();
});

async function planOf(tenant: TenantRef, predicate: string): Promise<string> {
  const transaction = database.open(tenant);
  try {
    await transaction.db.execute(sql.raw("set local enable_seqscan = off"));
    const { rows } = await transaction.db.execute(sql.raw(`explain select id from documents where ${predicate}`));
    return JSON.stringify(rows);
  } finally {
    await transaction.rollback();
  }
}

/** True when the plan looks the predicate up, and does not only walk along the index for the tenant. */
const searches = (plan: string, predicate: string): boolean =>
  new RegExp(`Index Cond: [^"]*${predicate.split(" ")[0]!.replace(/[()]/g, ".")}`).test(plan);

describe("advice on placements", () => {
  it("names the indexes that row-level security keeps from being used, and no other", async () => {
    const { tables } = await advisePlacement(owner, { watch: 0 });
    const documents = tables.find(({ table }) => table === "public.documents")!;
    expect(documents.rows).toBe(30_050);
    const named = new Set(documents.hindered.map(({ index }) => index));
    for (const [index, predicate, hindered] of SEARCHES) {
      expect([index, named.has(index)]).toEqual([index, hindered]);
      // The planner agrees.
      expect([predicate, searches(await planOf(large, predicate), predicate)]).toEqual([predicate, !hindered]);
      expect([predicate, searches(await planOf(dedicated, predicate), predicate)]).toEqual([predicate, true]);
    }
    expect(documents.hindered).toContainEqual({ index: "documents_tags_idx", searchesBy: "&& <@ = @>" });
    expect(documents.hindered).toContainEqual({ index: "documents_lower_idx", searchesBy: "an expression" });
  });

  it("says which tenants would gain, and why", async () => {
    const running = database.open(large);
    await running.db.execute(sql`select 1`);
    const { tenants } = await advisePlacement(owner, { watch: 250 });
    await running.commit();
    expect(tenants.map(({ slug, reasons }) => [slug, reasons.length])).toEqual([
      ["large", 2],
      ["small", 0],
      ["dedicated", 0],
    ]);
    const [advice] = tenants;
    expect(advice).toMatchObject({ rows: 30_000, load: 1, loadShare: 1, placement: "shared" });
    expect(advice!.reasons[0]).toMatch(
      /^a search reads about 30000 rows of public\.documents, since row-level security keeps it from using documents_attributes_idx \(/,
    );
    expect(advice!.reasons[1]).toBe("it makes 100 % of the load");
  });

  it("samples a large table, and comes near enough", async () => {
    await owner.query(
      "insert into public.documents (tenant_id, title) select $1, 's' || n from generate_series(1, 220000) n",
      [large.id],
    );
    await owner.query("analyze public.documents");
    const { tenants } = await advisePlacement(owner, { watch: 0 });
    expect(tenants[0]!.rows).toBeGreaterThan(200_000);
    expect(tenants[0]!.rows).toBeLessThan(300_000);
    expect(tenants[0]!.reasons).toContain("it holds 100 % of all rows in the shared tables");
  });
});
