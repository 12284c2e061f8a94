import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createDatabase } from "../../../src/database/database.ts";
import { roleName, tenantRoleName, tenantSchema } from "../../../src/database/role-names.ts";
import type { SqlConnection } from "../../../src/database/sql-connection.ts";
import type { Database, TenantRef } from "../../../src/database/types.ts";
import {
  type MoveOptions,
  type MoveStep,
  moveTenant,
  planTenantMove,
} from "../../../src/lifecycle/move/move-tenant.ts";
import { provisionSchema } from "../../../src/lifecycle/provision-schema.ts";
import { findTenant, suspendTenant } from "../../../src/lifecycle/tenants.ts";
import { createTenantContext } from "../../../src/tenancy/context.ts";
import { createRegistry } from "../../../src/tenancy/registry.ts";
import { createWithTenant, type WithTenant } from "../../../src/tenancy/with-tenant.ts";
import type { TestDatabase } from "../../helpers/database.ts";
import { bankMigrations, createBankDatabase, fillBank, rowsIn, triggerMigrations } from "./bank.ts";

let server: TestDatabase;
let owner: SqlConnection;
let database: Database;
let withTenant: WithTenant;
let tenant: { id: string; slug: string };
let schema: string;

const openDatabase = (url: string) =>
  createDatabase({
    ...{ url, poolSize: 6, tenantLimit: 4, preparedStatements: true, applicationName: "test" },
    onError: () => {},
  });

const options = (to: "shared" | "schema", others: Partial<MoveOptions> = {}): MoveOptions => ({
  to,
  ownerUrl: server.ownerUrl,
  adminUrl: server.provisionerUrl,
  rolePrefix: server.rolePrefix,
  folders: bankMigrations,
  ...others,
});

const move = (to: "shared" | "schema", others?: Partial<MoveOptions>) => moveTenant(tenant.id, options(to, others));

const exists = async (name: string) =>
  (await owner.query("select where to_regnamespace($1) is not null", [name])).rowCount === 1;

const problemsOf = async (to: "shared" | "schema", others?: Partial<MoveOptions>) =>
  (await planTenantMove(tenant.id, options(to, others))).problems;

async function useDatabase(folders = bankMigrations): Promise<void> {
  server = await createBankDatabase(folders);
  owner = await server.connectAsOwner();
  database = openDatabase(server.appUrl);
  withTenant = createWithTenant(database, createRegistry(database), createTenantContext());
}

async function leaveDatabase(): Promise<void> {
  await database.close();
  await owner.end();
  await server.drop();
}

async function newTenant(): Promise<void> {
  tenant = await server.createTenant();
  schema = tenantSchema(tenant.id);
}

describe("moving a tenant", () => {
  beforeAll(() => useDatabase());
  afterAll(leaveDatabase);
  beforeEach(newTenant);

  it("carries every row there and back, and erases what it leaves", async () => {
    const other = await server.createTenant();
    for (const { id } of [tenant, other]) await withTenant(id, (db) => fillBank(db));
    const before = await rowsIn(owner, "public", tenant.id);
    const others = await rowsIn(owner, "public", other.id);
    expect(before["entries"]).toHaveLength(120);

    const there = await move("schema", { batchSize: 7 });
    expect(there).toMatchObject({ isMoved: true, erased: 210, tenant: { placement: "schema", epoch: 2 } });
    expect(there.tables.map(({ name, rows }) => [name, rows])).toEqual([
      ["accounts", 20],
      ["entries", 120],
      ["note_tags", 5],
      ["notes", 5],
      ["transfers", 60],
    ]);
    expect(await rowsIn(owner, schema, tenant.id)).toEqual(before);
    expect(Object.values(await rowsIn(owner, "public", tenant.id)).flat()).toEqual([]);
    await withTenant(tenant.id, (db) => db.execute(sql`update accounts set name = name || '!'`));

    const changed = await rowsIn(owner, schema, tenant.id);
    const back = await move("shared");
    expect(back).toMatchObject({ isMoved: true, erased: 0, tenant: { placement: "shared", epoch: 3 } });
    expect(await rowsIn(owner, "public", tenant.id)).toEqual(changed);
    expect(await exists(schema)).toBe(false);
    expect(
      (await owner.query("select from pg_roles where rolname = $1", [tenantRoleName(server.rolePrefix, tenant.id)]))
        .rowCount,
    ).toBe(0);
    expect(await rowsIn(owner, "public", other.id)).toEqual(others);
    const { rows } = await owner.query(
      `select from_placement, to_placement, epoch, jsonb_array_length(tables) as tables, erased_at is not null as erased,
              moved_at >= locked_at as ordered
       from rowhouse.moves where tenant_id = $1 order by epoch`,
      [tenant.id],
    );
    expect(rows).toEqual([
      { from_placement: "shared", to_placement: "schema", epoch: 2, tables: 5, erased: true, ordered: true },
      { from_placement: "schema", to_placement: "shared", epoch: 3, tables: 5, erased: true, ordered: true },
    ]);
  });

  it("is followed by processes that still believe in the old place, whatever they send first", async () => {
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    const stale: TenantRef = { id: tenant.id, placement: "shared", epoch: 1 };
    const names = async (ref: TenantRef) => {
      const transaction = database.open(ref);
      const { rows } = await transaction.db.execute<{ place: string; name: string }>(
        sql`select 'accounts'::regclass::oid::regclass::text as place, name from accounts order by name`,
      );
      // Named, and by what the new place means by it.
      await transaction.db.execute(sql`select name from accounts`);
      await transaction.db.execute(sql`select name from accounts`);
      expect(transaction.tenant.epoch).toBe((await findTenant(owner, tenant.id)).epoch);
      await transaction.commit();
      return rows.map(({ name }) => name);
    };
    const all = ["account 1", "account 2", "account 3"];
    expect(await names(stale)).toEqual(all);
    await move("schema");
    expect(await names(stale)).toEqual(all);
    await withTenant(tenant.id, (db) => db.execute(sql`insert into accounts (name, balance) values ('account 4', 0)`));
    await move("shared");
    // Two moves behind, then one.
    expect(await names(stale)).toEqual([...all, "account 4"]);
    expect(await names({ ...stale, placement: "schema", epoch: 2 })).toEqual([...all, "account 4"]);
  });

  it("holds the tenant's requests back, and nobody else's, until it is done", async () => {
    const other = await server.createTenant();
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    let waiting: Promise<unknown> | undefined;
    const order: string[] = [];
    const onStep = ({ step }: MoveStep) => {
      order.push(step);
      if (step !== "copy" || waiting) return;
      waiting = withTenant(tenant.id, (db) => db.execute(sql`insert into notes (body) values ('waited')`)).then(() =>
        order.push("its own"),
      );
    };
    const assertOthersGoOn = async () => {
      await withTenant(other.id, (db) => db.execute(sql`insert into accounts (name, balance) values ('x', 1)`));
      order.push("another's");
    };
    // The move stands still when it has copied and compared everything: somebody holds a lock on where it writes last.
    const blocker = await server.connectAsOwner();
    onTestFinished(() => blocker.end());
    await blocker.query("begin");
    await blocker.query("lock table rowhouse.moves in exclusive mode");
    const moving = move("schema", { onStep });
    const stands = "select from pg_locks where not granted and relation = 'rowhouse.moves'::regclass";
    await waitFor(async () => (await owner.query(stands)).rowCount > 0);
    await assertOthersGoOn();
    await blocker.query("rollback");
    await moving;
    await waiting;
    expect(order.indexOf("another's")).toBeLessThan(order.indexOf("moved"));
    expect(order).toContain("its own");
    expect((await rowsIn(owner, schema, tenant.id))["notes"]).toHaveLength(6);
    expect((await rowsIn(owner, "public", tenant.id))["notes"]).toEqual([]);
  });

  it("gives up when a transaction of the tenant does not end, and changes nothing", async () => {
    const running = database.open({ id: tenant.id, placement: "shared", epoch: 1 });
    await running.db.execute(sql`insert into notes (body) values ('running')`);
    await expect(move("schema", { lockWait: 50 })).rejects.toMatchObject({
      code: "ERR_TENANT_BUSY",
      message: expect.stringMatching(/The last of them: server process \d+/),
    });
    await running.commit();
    expect(await findTenant(owner, tenant.id)).toMatchObject({ placement: "shared", epoch: 1 });
    // It goes on with the schema that it has made.
    expect(await move("schema")).toMatchObject({ isMoved: true, erased: 1 });
  });

  it("keeps the source when told so, refuses to write over it, and erases it when run again", async () => {
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    expect(await move("schema", { keepSource: true })).toMatchObject({ isMoved: true, erased: 0 });
    expect((await rowsIn(owner, "public", tenant.id))["accounts"]).toHaveLength(3);
    await expect(move("shared")).rejects.toMatchObject({
      code: "ERR_MOVE_REFUSED",
      message: expect.stringContaining(`\`rowhouse tenant move ${tenant.slug} --to schema\` does.`),
    });
    expect(await move("schema")).toMatchObject({ isMoved: false, erased: 22 });
    expect(await move("shared", { keepSource: true })).toMatchObject({ isMoved: true });
    expect(await exists(schema)).toBe(true);
    await expect(move("schema")).rejects.toMatchObject({ code: "ERR_MOVE_REFUSED" });
    expect(await move("shared")).toMatchObject({ isMoved: false });
    expect(await exists(schema)).toBe(false);
    expect(await move("schema")).toMatchObject({ isMoved: true });
  });

  it("draws numbers from where the other place has come to", async () => {
    const next = () =>
      withTenant(tenant.id, async (db) => {
        const account = await db.execute<{ number: number; id: string }>(
          sql`insert into accounts (name, balance) values ('n', 1) returning number, id`,
        );
        const { id, number } = account.rows[0]!;
        const transfer = await db.execute<{ number: string }>(
          sql`insert into transfers (from_id, to_id, amount) values (${id}, ${id}, 1) returning number`,
        );
        return [number, Number(transfer.rows[0]!.number)] as const;
      });
    const shared = await next();
    await move("schema");
    const dedicated = [await next(), await next(), await next()];
    expect(dedicated[0]).toEqual([shared[0] + 1, shared[1] + 1]);
    await move("shared");
    const back = await next();
    expect(back[0]).toBeGreaterThan(dedicated[2]![0]);
    expect(back[1]).toBeGreaterThan(dedicated[2]![1]);
  });

  it("moves a suspended tenant, an empty one, and one that is there already", async () => {
    await suspendTenant(owner, tenant.id);
    expect(await move("schema")).toMatchObject({ isMoved: true, tenant: { status: "suspended" } });
    expect(await move("schema")).toMatchObject({ isMoved: false, erased: 0, tenant: { epoch: 2 } });
    await expect(withTenant(tenant.id, (db) => db.execute(sql`select 1`))).rejects.toMatchObject({
      code: "ERR_TENANT_SUSPENDED",
    });
  });

  it("is made once when two operators ask for it", async () => {
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    const reports = await Promise.all([move("schema"), move("schema")]);
    expect(reports.map(({ isMoved }) => isMoved).sort()).toEqual([false, true]);
    expect(await findTenant(owner, tenant.id)).toMatchObject({ placement: "schema", epoch: 2 });
  });

  it("finds a difference between the two sides, and then moves nothing", async () => {
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    await provisionSchema(tenant.id, {
      ...options("schema"),
      adminUrl: server.provisionerUrl,
      folders: bankMigrations,
    });
    await owner.query(`alter table ${schema}.accounts drop column is_empty`);
    await owner.query(
      `alter table ${schema}.accounts add column is_empty boolean generated always as (balance > 0) stored`,
    );
    await expect(move("schema")).rejects.toMatchObject({
      code: "ERR_MOVE_FAILED",
      message: expect.stringMatching(
        /^Table accounts is not the same in both places: 3 rows with checksum -?\d+ in public\.accounts, 3 with/,
      ),
    });
    expect(await findTenant(owner, tenant.id)).toMatchObject({ placement: "shared", epoch: 1 });
    expect((await rowsIn(owner, schema, tenant.id))["accounts"]).toEqual([]);
    expect(await withTenant(tenant.id, async (db) => (await db.execute(sql`select from accounts`)).rowCount)).toBe(3);
  });

  it("prints a plan that changes nothing, and says what is in the way", async () => {
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    const plan = await planTenantMove(tenant.id, options("schema"));
    expect(plan).toMatchObject({ isMove: true, problems: [] });
    expect(plan.tables).toContainEqual({ name: "transfers", rows: 3 });
    expect(await exists(schema)).toBe(false);

    expect(await problemsOf("schema", { adminUrl: undefined })).toEqual([
      "Set ADMIN_DATABASE_URL: only an administrator may make the tenant's role.",
    ]);
    expect(await problemsOf("schema", { folders: [bankMigrations[0]!] })).toEqual([
      'The shared schema has migrations of "bank": name that folder too, with --migrations.',
    ]);
    expect(await problemsOf("schema", { folders: triggerMigrations })).toEqual([
      "The shared schema is behind: audit/0001_audit.sql. Run `rowhouse migrate` first.",
    ]);
    await expect(move("schema", { folders: [] })).rejects.toMatchObject({ code: "ERR_MOVE_REFUSED" });
    await expect(moveTenant("nobody", options("schema"))).rejects.toMatchObject({ code: "ERR_TENANT_NOT_FOUND" });
  });

  it("refuses places that do not have the same tables and columns", async () => {
    await move("schema");
    await owner.query(`create table ${schema}.by_hand (tenant_id uuid)`);
    await owner.query(`alter table ${schema}.notes add column extra text`);
    expect(await problemsOf("shared")).toEqual([
      `There is a table ${schema}.by_hand, but no public.by_hand. Make it by a migration, or drop it.`,
      `Columns of notes are in one of public.notes and ${schema}.notes only: extra. Make them by a migration.`,
    ]);
  });
});

describe("moving rows that triggers watch", () => {
  beforeAll(() => useDatabase(triggerMigrations));
  afterAll(leaveDatabase);
  beforeEach(newTenant);

  it("is refused on the shared side, where it would fire them, unless the owner may stop them", async () => {
    await withTenant(tenant.id, (db) => fillBank(db, 3, 3));
    const folders = triggerMigrations;
    const ownerRole = roleName(server.rolePrefix, "owner");
    const [problem] = await problemsOf("schema", { folders });
    expect(problem).toContain(`As a superuser: grant set on parameter session_replication_role to ${ownerRole}`);
    // Into the schema without erasing: nothing fires.
    const tables = ["accounts", "audit"];
    const before = await rowsIn(owner, "public", tenant.id, tables);
    await move("schema", { folders, keepSource: true });
    expect(await rowsIn(owner, schema, tenant.id, tables)).toEqual(before);
    // Its own triggers work there as before.
    await withTenant(tenant.id, (db) => db.execute(sql`insert into accounts (name, balance) values ('new', 0)`));
    expect((await rowsIn(owner, schema, tenant.id, ["audit"]))["audit"]).toHaveLength(4);

    onTestFinished(async () => {
      await server.asAdmin(`revoke set on parameter session_replication_role from ${ownerRole}`);
    });
    await server.asAdmin(`grant set on parameter session_replication_role to ${ownerRole}`);
    expect(await move("schema", { folders })).toMatchObject({ isMoved: false, erased: 25 });
    expect(await rowsIn(owner, "public", tenant.id, tables)).toEqual({ accounts: [], audit: [] });
    const moved = await rowsIn(owner, schema, tenant.id, tables);
    await move("shared", { folders });
    expect(await rowsIn(owner, "public", tenant.id, tables)).toEqual(moved);

    await owner.query("alter table public.accounts enable always trigger note_accounts");
    expect(await problemsOf("schema", { folders })).toEqual([
      'Trigger "note_accounts" of public.accounts is ENABLE ALWAYS, so it would fire for every row that is moved. Enable it normally.',
    ]);
  });
});

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it never came about");
}
