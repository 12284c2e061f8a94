import path from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import { tenantRoleName } from "../../src/database/role-names.ts";
import type { Database, TenantRef } from "../../src/database/types.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { findPgBouncer, type PgBouncer, startPgBouncer } from "../helpers/pgbouncer.ts";

const FOLDERS = [{ source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") }];
const program = findPgBouncer();

describe.skipIf(program === undefined)(
  `behind PgBouncer in transaction mode${program ? "" : " (skipped: no PgBouncer)"}`,
  () => {
    let server: TestDatabase;
    let pooler: PgBouncer;
    let databases: Database[];
    let tenants: TenantRef[];

    beforeAll(async () => {
      server = await createTestDatabase();
      pooler = await startPgBouncer(program!, server.appUrl, 3);
      const url = pooler.urlFor(server.appUrl);
      const options = { url, poolSize: 6, tenantLimit: 6, applicationName: "test", onError: () => {} };
      // Two processes, as far as the pooler can tell. Before 1.21 it does not keep prepared statements apart.
      databases = [0, 1].map(() => createDatabase({ ...options, preparedStatements: false }));
      await using owner = await server.connectAsOwner();
      const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
      const provision = { adminUrl, ownerUrl, rolePrefix, folders: FOLDERS };
      const dedicated = [
        await createDedicatedTenant(owner, { slug: "a" }, provision),
        await createDedicatedTenant(owner, { slug: "b" }, provision),
      ];
      const shared = [await server.createTenant(), await server.createTenant()];
      tenants = [...dedicated, ...shared.map(({ id }) => ({ id, placement: "shared" as const, epoch: 1 }))];
    });

    afterAll(async () => {
      await Promise.all(databases.map((database) => database.close()));
      await pooler[Symbol.asyncDispose]();
      await server.drop();
    });

    it("keeps every row, role and schema with its tenant, under interleaved load of both placements", async () => {
      const stored = new Map(tenants.map(({ id }) => [id, [] as string[]]));
      const expectedRole = ({ id, placement }: TenantRef) =>
        placement === "schema" ? tenantRoleName(server.rolePrefix, id) : `${server.rolePrefix}_app`;
      await Promise.all(
        Array.from({ length: 240 }, async (_, n) => {
          const tenant = tenants[n % tenants.length]!;
          const transaction = databases[n % 2]!.open(tenant);
          const before = await transaction.db.select().from(notes);
          expect(before.filter(({ tenantId }) => tenantId !== tenant.id)).toEqual([]);
          await transaction.db.insert(notes).values({ body: `note ${n}` });
          const { rows } = await transaction.db.execute<{ role: string; tenant: string }>(
            sql`select current_user as role, rowhouse.current_tenant() as tenant`,
          );
          expect(rows[0]).toEqual({ role: expectedRole(tenant), tenant: tenant.id });
          if (n % 5 === 0) return transaction.rollback();
          await transaction.commit();
          stored.get(tenant.id)!.push(`note ${n}`);
        }),
      );
      for (const tenant of tenants) {
        const transaction = databases[0]!.open(tenant, { readOnly: true });
        const rows = await transaction.db.select().from(notes);
        await transaction.commit();
        expect(rows.map(({ body }) => body).sort()).toEqual(stored.get(tenant.id)!.sort());
        expect(rows.length).toBeGreaterThan(0);
      }
      // Fewer server connections than transactions wanted at once: they were shared.
      const { rows } = await server.asAdmin<{ n: number }>(
        "select count(*)::int as n from pg_stat_activity where datname = $1 and usename = $2",
        [server.name, `${server.rolePrefix}_app`],
      );
      expect(rows[0]!.n).toBeLessThanOrEqual(3);
    });

    it("leaves no tenant behind for who comes without one", async () => {
      for (const database of databases) {
        const [row] = [await database.lookup<{ id: string }>("find_tenant_by_id", [tenants[0]!.id])];
        expect(row?.id).toBe(tenants[0]!.id);
      }
      const { default: pg } = await import("pg");
      const client = new pg.Client({ connectionString: pooler.urlFor(server.appUrl) });
      await client.connect();
      for (let n = 0; n < 6; n++) {
        const { rows } = await client.query(
          "select current_user as role, coalesce(current_setting('app.tenant_id', true), '') as tenant, current_setting('search_path') as path, (select count(*)::int from public.notes) as n",
        );
        expect(rows).toEqual([
          { role: `${server.rolePrefix}_app`, tenant: "", path: "public, extensions, pg_temp", n: 0 },
        ]);
      }
      await client.end();
    });
  },
);
