import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roleName, tenantRoleName, tenantSchema } from "../../src/database/role-names.ts";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { runDoctor } from "../../src/doctor/doctor.ts";
import { zeroCount } from "../../src/doctor/zero-count.ts";
import { createDedicatedTenant } from "../../src/lifecycle/tenants.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const FOLDERS = [{ source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") }];

let server: TestDatabase;
let owner: SqlConnection;
let schema: string;
let role: string;
let other: string;
let app: string;

beforeAll(async () => {
  server = await createTestDatabase();
  owner = await server.connectAsOwner();
  const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  const options = { adminUrl, ownerUrl, rolePrefix, folders: FOLDERS };
  const a = await createDedicatedTenant(owner, { slug: "a" }, options);
  const b = await createDedicatedTenant(owner, { slug: "b" }, options);
  schema = tenantSchema(a.id);
  role = tenantRoleName(rolePrefix, a.id);
  other = tenantRoleName(rolePrefix, b.id);
  app = roleName(rolePrefix, "app");
});

afterAll(() => server.drop());

const findings = async () =>
  (await runDoctor(owner, { rolePrefix: server.rolePrefix })).filter(({ rule }) => rule !== "0032_server_version");

describe("the doctor, of a database with dedicated schemas", () => {
  it("has nothing to say when they are sound", async () => {
    expect(await findings()).toEqual([]);
  });

  it("are out of the application's reach for zero-count too, and a leak is found there", async () => {
    const count = async () => {
      await using app = await server.connectAsApp();
      const { tables } = await zeroCount({ app, owner, rolePrefix: server.rolePrefix });
      return tables.filter(({ table }) => table.startsWith(`${schema}.`)).map(({ table, verdict }) => [table, verdict]);
    };
    const sound = [
      [`${schema}.note_tags`, "unreachable"],
      [`${schema}.notes`, "unreachable"],
    ];
    expect(await count()).toEqual(sound);
    const id = schema.slice(2);
    await owner.query(`insert into ${schema}.notes (tenant_id, body) values ($1, 'leaked')`, [id]);
    await owner.query(`grant usage on schema ${schema} to ${app}; grant select on ${schema}.notes to ${app}`);
    expect(await count()).toEqual([sound[0], [`${schema}.notes`, "failed"]]);
    await owner.query(`revoke usage on schema ${schema} from ${app}; revoke select on ${schema}.notes from ${app}`);
    expect(await count()).toEqual(sound);
  });

  const faults: [what: string, rule: string, fault: () => string][] = [
    [
      "a table without its check",
      "0033_dedicated_table",
      () => `alter table ${schema}.notes drop constraint tenant_id_is_own`,
    ],
    ["a table of nobody", "0033_dedicated_table", () => `create table ${schema}.loose (a integer)`],
    ["a table granted to another tenant", "0013_table_grant", () => `grant select on ${schema}.notes to ${other}`],
    ["a table granted to the application", "0013_table_grant", () => `grant select on ${schema}.notes to ${app}`],
    [
      "a table granted to all tenants",
      "0013_table_grant",
      () => `grant select on ${schema}.notes to ${app.replace(/app$/, "tenant")}`,
    ],
    ["TRUNCATE", "0013_table_grant", () => `grant truncate on ${schema}.notes to ${role}`],
    ["a shared table granted to a tenant's role", "0013_table_grant", () => `grant select on public.notes to ${role}`],
    ["a schema opened to another tenant", "0034_dedicated_schema", () => `grant usage on schema ${schema} to ${other}`],
    ["a schema opened to the application", "0034_dedicated_schema", () => `grant usage on schema ${schema} to ${app}`],
    ["a tenant's role in another's", "0011_role_membership", () => `grant ${other} to ${role}`],
    ["a role that may log in", "0009_role_attributes", () => `alter role ${role} login`],
  ];

  it.each(faults)("sees %s", async (_what, rule, fault) => {
    await using admin = await connectSql(server.adminUrl, "test");
    await admin.query(`begin; ${fault()}`);
    const found = await runDoctor(admin, { rolePrefix: server.rolePrefix });
    await admin.query("rollback");
    expect(found.map((finding) => finding.rule)).toContain(rule);
  });
});
