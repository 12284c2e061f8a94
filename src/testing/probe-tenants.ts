import { randomBytes } from "node:crypto";
import { getTableName } from "drizzle-orm";
import type { SqlConnection } from "../database/sql-connection.ts";
import { ForeignKeyViolation } from "../errors.ts";
import type { Feature } from "../http/feature.ts";
import { createTenant } from "../lifecycle/tenants.ts";
import type { Rowhouse } from "../rowhouse.ts";
import { describeTable } from "../tables/describe-table.ts";
import { type AnyTenantTable, isTenantTable } from "../tables/table-kind.ts";

/** A tenant that exists for one route's probe, seeded by the features. */
export interface ProbeTenant {
  readonly id: string;
  /** Ids of its rows in a table, in their order. */
  ids(table: AnyTenantTable): readonly string[];
  /** Every id of it. */
  readonly allIds: readonly string[];
  /** A digest over all of its rows: the same as long as nothing of it has changed. */
  digest(): Promise<string>;
  /** Removes its rows and itself. */
  remove(): Promise<void>;
}

const qualified = (table: AnyTenantTable): string => `${describeTable(table).schema}."${getTableName(table)}"`;

/** Makes tenants with alike data. */
export function createProbeTenants(rowhouse: Rowhouse, owner: SqlConnection) {
  const tables = tenantTablesOf(rowhouse.features);

  async function idsOf(tenantId: string): Promise<Map<AnyTenantTable, string[]>> {
    const ids = new Map<AnyTenantTable, string[]>();
    for (const table of tables) {
      const { rows } = await owner.query<{ id: string }>(
        `select id from ${qualified(table)} where tenant_id = $1 order by id limit 20`,
        [tenantId],
      );
      ids.set(
        table,
        rows.map((row) => row.id),
      );
    }
    return ids;
  }

  async function digest(tenantId: string): Promise<string> {
    const digests: string[] = [];
    for (const table of tables) {
      const { rows } = await owner.query<{ digest: string | null }>(
        `select md5(string_agg(t::text, ';' order by t::text)) as digest from ${qualified(table)} t where tenant_id = $1`,
        [tenantId],
      );
      digests.push(rows[0]?.digest ?? "");
    }
    return digests.join(" ");
  }

  async function remove(tenantId: string): Promise<void> {
    // Rows that others refer to go when those are gone: each round removes at least the last in the chain.
    for (let left = tables, round = 0; left.length > 0 && round <= tables.length; round++) {
      const refused: AnyTenantTable[] = [];
      for (const table of left) {
        await owner
          .query(`delete from ${qualified(table)} where tenant_id = $1`, [tenantId])
          .catch((error: unknown) => {
            if (!(error instanceof ForeignKeyViolation)) throw error;
            refused.push(table);
          });
      }
      left = refused;
    }
    await owner.query("delete from rowhouse.tenants where id = $1", [tenantId]);
    rowhouse.forgetTenant(tenantId);
  }

  return async function makeProbeTenant(): Promise<ProbeTenant> {
    const { id } = await createTenant(owner, { slug: `probe-${randomBytes(8).toString("hex")}` });
    await rowhouse.withTenant(id, async (db) => {
      for (const feature of rowhouse.features) await feature.seed?.(db);
    });
    const ids = await idsOf(id);
    return {
      id,
      ids: (table) => ids.get(table) ?? [],
      allIds: [...ids.values()].flat(),
      digest: () => digest(id),
      remove: () => remove(id),
    };
  };
}

function tenantTablesOf(features: readonly Feature[]): AnyTenantTable[] {
  const tables = features.flatMap((feature) => Object.values(feature.tables));
  return [...new Set(tables.filter(isTenantTable))];
}
