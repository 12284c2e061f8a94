import { randomBytes } from "node:crypto";
import { tenantSchema } from "../database/role-names.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { tenantTablesQuery } from "../doctor/catalog.ts";
import { type ProvisionOptions, removeSchema } from "../lifecycle/provision-schema.ts";
import { createDedicatedTenant, createTenant, type TenantRecord } from "../lifecycle/tenants.ts";
import type { Rowhouse } from "../rowhouse.ts";
import { describeTable } from "../tables/describe-table.ts";
import type { AnyTenantTable } from "../tables/table-kind.ts";
import { isUuid } from "../tenancy/tenant.ts";

/** A tenant that exists for one route's probe, seeded by the features. Disposing of it removes its rows and itself. */
export interface ProbeTenant extends AsyncDisposable {
  readonly id: string;
  /** Ids of its rows in a table, in their order. */
  ids(table: AnyTenantTable): readonly string[];
  /** Every id of it, its own included. */
  readonly allIds: readonly string[];
  /** A digest over all of its rows, in whatever order: the same as long as nothing of it has changed. */
  digest(): Promise<string>;
}

/** A tenant table of the catalog, whether a feature declares it or not. */
interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  /** Qualified and quoted. */
  readonly label: string;
  /** Quoted. */
  readonly tenantColumn: string;
}

/** Tenants that live in schemas of their own: how to make these, and which are. */
export interface DedicatedProbe extends ProvisionOptions {
  /** All tenants, or the second of each two: then one placement is probed from the other. */
  readonly which: "all" | "every second";
}

/** @returns makes tenants with alike data; throws what a seed throws, and leaves no tenant then */
export async function createProbeTenants(
  rowhouse: Rowhouse,
  owner: SqlConnection,
  dedicated?: DedicatedProbe,
): Promise<() => Promise<ProbeTenant>> {
  const query = tenantTablesQuery({});
  const { rows: sharedTables } = await owner.query<CatalogTable>(query.text, query.values);
  let made = 0;

  function create(): Promise<TenantRecord> {
    const slug = `probe-${randomBytes(8).toString("hex")}`;
    const isDedicated = dedicated?.which === "all" || made++ % 2 === 1;
    return dedicated && isDedicated ? createDedicatedTenant(owner, { slug }, dedicated) : createTenant(owner, { slug });
  }

  async function remove(tenant: TenantRecord): Promise<void> {
    if (dedicated && tenant.placement === "schema") await removeSchema(tenant.id, dedicated);
    else await removeRows(owner, sharedTables, tenant);
    // What the framework keeps of it goes with it.
    await owner.query("delete from rowhouse.tenants where id = $1", [tenant.id]);
    rowhouse.forgetTenant(tenant.id);
  }

  return async function makeProbeTenant() {
    const tenant = await create();
    const tables =
      tenant.placement === "schema" ? sharedTables.map((table) => inSchemaOf(tenant, table)) : sharedTables;
    try {
      await rowhouse.withTenant(tenant.id, async (db) => {
        for (const feature of rowhouse.features) await feature.seed?.(db);
      });
      const ids = await readIds(owner, tables, tenant.id);
      return {
        id: tenant.id,
        ids(table) {
          const { schema, name } = describeTable(table);
          return ids.get(`${schema}.${name}`) ?? [];
        },
        allIds: [...ids.values()].flat(),
        digest: () => digest(owner, tables, tenant.id),
        [Symbol.asyncDispose]: () => remove(tenant),
      };
    } catch (error) {
      await remove(tenant);
      throw error;
    }
  };
}

/** The tenant's own table in place of the shared one; what the framework keeps is shared. */
function inSchemaOf({ id }: TenantRecord, table: CatalogTable): CatalogTable {
  if (table.schema === "rowhouse") return table;
  return { ...table, label: `${tenantSchema(id)}${table.label.slice(table.label.indexOf("."))}` };
}

/** By qualified name. Ids that are no UUIDs are left out: a number proves nothing where it is found. */
async function readIds(owner: SqlConnection, tables: readonly CatalogTable[], tenantId: string) {
  const ids = new Map<string, string[]>();
  for (const { schema, name, label, tenantColumn } of tables) {
    const { rows } = await owner.query<{ id: string | null }>(
      `select pg_catalog.to_jsonb(t) ->> 'id' as id from ${label} t where ${tenantColumn} = $1 order by 1`,
      [tenantId],
    );
    ids.set(
      `${schema}.${name}`,
      rows.flatMap(({ id }) => (id !== null && isUuid(id) ? id : [])),
    );
  }
  return ids;
}

async function digest(owner: SqlConnection, tables: readonly CatalogTable[], tenantId: string): Promise<string> {
  const digests: string[] = [];
  for (const { label, tenantColumn } of tables) {
    const { rows } = await owner.query<{ digest: string | null }>(
      `select pg_catalog.md5(pg_catalog.string_agg(t::text, ';' order by t::text)) as digest
       from ${label} t where ${tenantColumn} = $1`,
      [tenantId],
    );
    digests.push(rows[0]?.digest ?? "");
  }
  return digests.join(" ");
}

/** How often triggers may write new rows while the others go. */
const REMOVAL_ROUNDS = 5;

/**
 * Removes the tenant's rows from the application's tables: in one statement, after which foreign keys are checked, so
 * that neither their order nor a circle of them matters. As the tenant, since a trigger may ask who that is.
 */
async function removeRows(owner: SqlConnection, tables: readonly CatalogTable[], tenant: TenantRecord): Promise<void> {
  const own = tables.filter(({ schema }) => schema !== "rowhouse");
  if (own.length === 0) return;
  const deletions = own.map(
    ({ label, tenantColumn }, n) => `d${n} as (delete from ${label} where ${tenantColumn} = $1 returning 1)`,
  );
  const counts = own.map((_, n) => `(select count(*) from d${n})`);
  const statement = `with ${deletions.join(", ")} select (${counts.join(" + ")})::int as count`;
  await owner.query("begin");
  try {
    await owner.query("select rowhouse.enter($1, $2)", [tenant.id, tenant.epoch]);
    for (let round = 0; round < REMOVAL_ROUNDS; round += 1) {
      const { rows } = await owner.query<{ count: number }>(statement, [tenant.id]);
      if (rows[0]?.count === 0) break;
    }
    await owner.query("commit");
  } catch (error) {
    await owner.query("rollback");
    throw error;
  }
}
