import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { tenantSchema } from "../../src/database/role-names.ts";
import type { SqlConnection } from "../../src/database/sql-connection.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { migrate, type MigrateOptions } from "../../src/migrations/migrate.ts";
import { migrationStatus } from "../../src/migrations/migration-status.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const FIXTURES = path.join(import.meta.dirname, "../fixtures/migrations");
const FAILS_FOR = "short";
/** Fails in a schema that holds a note with this body, and shows in another if it were run twice. */
const SECOND = `create table public.marks (tenant_id uuid not null default rowhouse.current_tenant(), n integer, primary key (tenant_id, n));
--> statement-breakpoint
insert into public.marks (tenant_id, n) select tenant_id, 1 from public.notes limit 1;
--> statement-breakpoint
alter table public.notes add constraint long_enough check (body <> '${FAILS_FOR}');`;

let server: TestDatabase;
let owner: SqlConnection;
let folder: string;
let schemas: string[];

const folders = () => [{ source: "test", path: folder }];

async function addTenants(count: number): Promise<string[]> {
  const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  const made: string[] = [];
  for (let n = 0; n < count; n++) {
    const slug = `c-${Math.random().toString(36).slice(2)}`;
    const { id } = await createDedicatedTenant(owner, { slug }, { adminUrl, ownerUrl, rolePrefix, folders: folders() });
    await owner.query(`insert into ${tenantSchema(id)}.notes (tenant_id, body) values ($1, 'fine')`, [id]);
    made.push(tenantSchema(id));
  }
  return made.sort();
}

const up = (options: Partial<MigrateOptions> = {}) =>
  migrate({ ownerUrl: server.ownerUrl, rolePrefix: server.rolePrefix, folders: folders(), ...options });

const states = async () =>
  Object.fromEntries((await migrationStatus(owner, folders())).map(({ target, state }) => [target, state]));

const attempts = async () =>
  Object.fromEntries(
    (
      await owner.query<{ target: string; attempts: number }>(
        "select target, attempts from rowhouse.migrations where id = 'test/0002_marks.sql'",
      )
    ).rows.map((row) => [row.target, row.attempts]),
  );

const breakFor = (schema: string) => owner.query(`update ${schema}.notes set body = '${FAILS_FOR}'`);
const mend = (schema: string) => owner.query(`update ${schema}.notes set body = 'long'`);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "rowhouse-campaign-"));
});
afterAll(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  await rm(folder, { recursive: true });
  await cp(FIXTURES, folder, { recursive: true });
  server = await createTestDatabase();
  owner = await server.connectAsOwner();
  schemas = await addTenants(6);
  await writeFile(path.join(folder, "0002_marks.sql"), SECOND);
  return () => server.drop();
});

describe("migrating many schemas", () => {
  it("brings each to the same place, and finds nothing to do afterwards", async () => {
    const report = await up();
    expect(report.applied).toEqual(["test/0002_marks.sql"]);
    expect(report.dedicated).toEqual(schemas.map((target) => ({ target, applied: ["test/0002_marks.sql"] })));
    expect(new Set(Object.values(await states()))).toEqual(new Set(["current"]));
    expect(await up()).toEqual({ applied: [], secured: [], dedicated: [] });
  });

  it("stops at a failure, and goes on later without running anything twice", async () => {
    const [bad] = schemas.slice(3);
    await breakFor(bad!);
    await expect(up({ parallel: 1 })).rejects.toMatchObject({
      code: "ERR_MIGRATION_FAILED",
      message: expect.stringMatching(
        new RegExp(`1 of the dedicated schemas failed, 3 are done, 3 are not at this version. ${bad}: [^]*long_enough`),
      ),
    });
    expect(await states()).toEqual({
      shared: "current",
      ...Object.fromEntries(schemas.map((s, n) => [s, n < 3 ? "current" : n === 3 ? "failed" : "behind"])),
    });
    const failed = (await migrationStatus(owner, folders())).find(({ target }) => target === bad);
    expect(failed).toMatchObject({
      attempts: 1,
      failedMigration: "test/0002_marks.sql",
      pending: ["test/0002_marks.sql"],
    });
    expect(failed!.error).toMatch(/line 5[^]*long_enough/);

    expect((await up({ only: "untried" })).dedicated.map(({ target }) => target)).toEqual(schemas.slice(4));
    await mend(bad!);
    expect((await up({ only: "failed" })).dedicated.map(({ target }) => target)).toEqual([bad]);
    expect(new Set(Object.values(await states()))).toEqual(new Set(["current"]));
    expect(await attempts()).toEqual(
      Object.fromEntries([...schemas, "shared"].map((target) => [target, target === bad ? 2 : 1])),
    );
    for (const schema of schemas) {
      expect((await owner.query(`select n from ${schema}.marks`)).rows).toEqual([{ n: 1 }]);
    }
  });

  it("goes on with the others when it is told to", async () => {
    await breakFor(schemas[0]!);
    await expect(up({ keepGoing: true })).rejects.toMatchObject({ code: "ERR_MIGRATION_FAILED" });
    const after = await states();
    expect(schemas.map((schema) => after[schema])).toEqual(["failed", ...Array<string>(5).fill("current")]);
  });

  it("can be run by two at once", async () => {
    const reports = await Promise.all([up(), up()]);
    const applied = reports.flatMap(({ dedicated }) => dedicated.filter((report) => report.applied.length > 0));
    expect(applied.map(({ target }) => target).sort()).toEqual(schemas);
    expect(new Set(Object.values(await attempts()))).toEqual(new Set([1]));
  });

  it("includes a schema that is made meanwhile", async () => {
    const lock = await server.connectAsOwner();
    await lock.query(`begin; lock table ${schemas[0]}.notes in access share mode`);
    const running = up({ parallel: 1 });
    await expect
      .poll(
        async () =>
          (
            await server.asAdmin(
              "select 1 from pg_locks l join pg_stat_activity s using (pid) where not l.granted and s.datname = $1",
              [server.name],
            )
          ).rows.length,
      )
      .toBeGreaterThan(0);
    await rm(path.join(folder, "0002_marks.sql"));
    const [late] = await addTenants(1);
    await writeFile(path.join(folder, "0002_marks.sql"), SECOND);
    await lock.query("rollback");
    expect((await running).dedicated.map(({ target }) => target)).toContain(late);
    expect((await states())[late!]).toBe("current");
  });

  it("secures a table whose wall has fallen", async () => {
    await up();
    await owner.query(`alter table ${schemas[0]}.notes drop constraint tenant_id_is_own`);
    await owner.query(`grant truncate on ${schemas[1]}.notes to ${server.rolePrefix}_app`);
    expect((await up()).dedicated).toEqual(schemas.slice(0, 2).map((target) => ({ target, applied: [] })));
    expect(await up()).toEqual({ applied: [], secured: [], dedicated: [] });
  });
});
