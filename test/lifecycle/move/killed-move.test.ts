import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../../src/database/database.ts";
import { tenantSchema } from "../../../src/database/role-names.ts";
import type { SqlConnection } from "../../../src/database/sql-connection.ts";
import type { Database } from "../../../src/database/types.ts";
import { moveTenant } from "../../../src/lifecycle/move/move-tenant.ts";
import type { MoveDestination } from "../../../src/lifecycle/move/plan-move.ts";
import { provisionSchema } from "../../../src/lifecycle/provision-schema.ts";
import { findTenant } from "../../../src/lifecycle/tenants.ts";
import { createTenantContext } from "../../../src/tenancy/context.ts";
import { createRegistry } from "../../../src/tenancy/registry.ts";
import { createWithTenant, type WithTenant } from "../../../src/tenancy/with-tenant.ts";
import type { TestDatabase } from "../../helpers/database.ts";
import { bankMigrations, createBankDatabase, fillBank, rowsIn } from "./bank.ts";
import { startMove } from "./processes.ts";

let server: TestDatabase;
let owner: SqlConnection;
let database: Database;
let withTenant: WithTenant;

const optionsOf = (to: MoveDestination, { id }: { id: string }) => ({
  ...{ tenant: id, to, ownerUrl: server.ownerUrl, adminUrl: server.provisionerUrl, rolePrefix: server.rolePrefix },
  ...{ folders: bankMigrations, batchSize: 20 },
});

beforeAll(async () => {
  server = await createBankDatabase();
  owner = await server.connectAsOwner();
  database = createDatabase({
    ...{ url: server.appUrl, poolSize: 4, tenantLimit: 4, preparedStatements: true, applicationName: "test" },
    onError: () => {},
  });
  withTenant = createWithTenant(database, createRegistry(database), createTenantContext());
});

afterAll(async () => {
  await database.close();
  await owner.end();
  await server.drop();
});

const count = (id: string) =>
  withTenant(id, async (db) => (await db.execute(sql`select from transfers union all select from entries`)).rowCount);

/** The steps of a move, and whether the rows have moved when it is killed at its beginning. */
const STEPS: Record<MoveDestination, readonly (readonly [step: string, hasMoved: boolean])[]> = {
  schema: [
    ["plan", false],
    ["provision", false],
    ["lock", false],
    ["copy accounts, transfers", false],
    ["verify entries", false],
    ["commit", false],
    ["moved", true],
    ["erase", true],
    ["erase entries", true],
    ["erase accounts, transfers", true],
    ["done", true],
  ],
  shared: [
    ["lock", false],
    ["copy entries", false],
    ["verify notes", false],
    ["commit", false],
    ["moved", true],
    ["erase", true],
    ["done", true],
  ],
};

describe.each(["schema", "shared"] as const)("a move to %s that is killed", (to) => {
  it.each(STEPS[to])(
    'at the beginning of "%s" has moved everything or nothing, and is completed by the next run',
    async (step, hasMoved) => {
      const tenant = await server.createTenant();
      await withTenant(tenant.id, (db) => fillBank(db, 6, 10));
      if (to === "shared") await moveTenant(tenant.id, optionsOf("schema", tenant));
      const [from, there] = to === "schema" ? ["public", tenantSchema(tenant.id)] : [tenantSchema(tenant.id), "public"];
      const before = await rowsIn(owner, from, tenant.id);
      const { placement, epoch } = await findTenant(owner, tenant.id);

      const killed = startMove(optionsOf(to, tenant), step);
      expect(await killed.ended).toBe("SIGKILL");
      expect(await findTenant(owner, tenant.id)).toMatchObject(
        hasMoved ? { placement: to, epoch: epoch + 1 } : { placement, epoch },
      );
      // Served at once, wherever it is.
      expect(await count(tenant.id)).toBe(30);

      const report = await moveTenant(tenant.id, optionsOf(to, tenant));
      expect(report).toMatchObject({ isMoved: !hasMoved, tenant: { placement: to, epoch: epoch + 1 } });
      expect(await rowsIn(owner, there, tenant.id)).toEqual(before);
      expect(await count(tenant.id)).toBe(30);
      if (to === "schema") expect(Object.values(await rowsIn(owner, from, tenant.id)).flat()).toEqual([]);
      else expect((await owner.query("select from pg_namespace where nspname = $1", [from])).rowCount).toBe(0);
      const unfinished = await owner.query("select from rowhouse.moves where tenant_id = $1 and erased_at is null", [
        tenant.id,
      ]);
      expect(unfinished.rowCount).toBe(0);
    },
  );
});

describe("a move that was killed", () => {
  it("before the rows went is undone by moving the tenant to where it is", async () => {
    const tenant = await server.createTenant();
    await withTenant(tenant.id, (db) => fillBank(db, 6, 10));
    expect(await startMove(optionsOf("schema", tenant), "copy entries").ended).toBe("SIGKILL");
    const schemas = () => owner.query("select from pg_namespace where nspname = $1", [tenantSchema(tenant.id)]);
    expect((await schemas()).rowCount).toBe(1);
    expect(await moveTenant(tenant.id, optionsOf("shared", tenant))).toMatchObject({ isMoved: false });
    expect((await schemas()).rowCount).toBe(0);
    expect(await count(tenant.id)).toBe(30);
  });

  it("while it made the schema goes on with that", async () => {
    const tenant = await server.createTenant();
    await withTenant(tenant.id, (db) => fillBank(db, 6, 10));
    const schema = tenantSchema(tenant.id);
    await provisionSchema(tenant.id, optionsOf("schema", tenant));
    await owner.query(`drop table ${schema}.entries, ${schema}.transfers, ${schema}.accounts`);
    await owner.query(`drop type ${schema}.transfer_state; drop domain ${schema}.cents`);
    await owner.query("delete from rowhouse.migrations where target = $1 and id like 'bank/%'", [schema]);
    expect(await moveTenant(tenant.id, optionsOf("schema", tenant))).toMatchObject({ isMoved: true });
    expect(await count(tenant.id)).toBe(30);
  });

  it("while it erased is finished before the tenant moves back", async () => {
    const tenant = await server.createTenant();
    await withTenant(tenant.id, (db) => fillBank(db, 6, 10));
    const before = await rowsIn(owner, "public", tenant.id);
    expect(await startMove(optionsOf("schema", tenant), "erase entries").ended).toBe("SIGKILL");
    expect(Object.values(await rowsIn(owner, "public", tenant.id)).flat()).not.toEqual([]);
    expect(await moveTenant(tenant.id, optionsOf("shared", tenant))).toMatchObject({ isMoved: true });
    expect(await rowsIn(owner, "public", tenant.id)).toEqual(before);
  });
});
