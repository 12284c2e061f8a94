import path from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase } from "../../../src/database/database.ts";
import { tenantSchema } from "../../../src/database/role-names.ts";
import type { SqlConnection } from "../../../src/database/sql-connection.ts";
import type { Database } from "../../../src/database/types.ts";
import { runDoctor } from "../../../src/doctor/doctor.ts";
import { moveTenant } from "../../../src/lifecycle/move/move-tenant.ts";
import type { MoveDestination } from "../../../src/lifecycle/move/plan-move.ts";
import { createTenantContext } from "../../../src/tenancy/context.ts";
import { createRegistry } from "../../../src/tenancy/registry.ts";
import { createWithTenant, type WithTenant } from "../../../src/tenancy/with-tenant.ts";
import { templateMigrations, type TestDatabase } from "../../helpers/database.ts";
import { createBankDatabase, rowsIn } from "./bank.ts";

const folders = [
  templateMigrations,
  { source: "odd", path: path.join(import.meta.dirname, "../../fixtures/move-odd") },
];
const LINES = `"Order's ""lines"" $1"`;
const TABLES = [LINES, "keyed", "keyless", "tree", "parts"];

let server: TestDatabase;
let owner: SqlConnection;
let database: Database;
let withTenant: WithTenant;

beforeAll(async () => {
  server = await createBankDatabase(folders);
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

async function fill(id: string): Promise<void> {
  await withTenant(id, async (db) => {
    const run = (text: string) => db.execute(sql.raw(text));
    await run(`insert into ${LINES} ("select", "Ünïcode \\ col", "all", price, prices, note, at, stamp, ratio, total, span, bits)
      select n, E'a\\\\b''"\\n\\t' || n, '{"a \\"b\\"","c,d","{e}",""}', row(n::numeric, 'a "b" (c), ''d''')::"Money $",
        array[row(1.10::numeric, null::text)::"Money $", null], '{ "a":  1, "a": 2 }', (array['infinity', '-infinity', '4713-01-01 BC', '294276-12-31'])[n % 4 + 1]::timestamptz,
        '2026-03-29 02:30', (array['NaN', 'Infinity', '-0', '1e-300', '0.1'])[n % 5 + 1]::float8,
        (array['NaN', 'Infinity', '1.10', '-0.000000000000000000001'])[n % 4 + 1]::numeric, '[2026-01-01,)', B'101'
      from generate_series(1, 40) n`);
    await run(`insert into keyed
      select rowhouse.current_tenant(), (array['', ' ', 'a''b', 'ä', E'\\\\', 'z'])[n % 6 + 1], timestamptz '2026-03-29 00:00+00' + n * interval '0.000001 s',
        n / 3.0, n / 3.0::float8, (array['a "b"', 'c,d', '{e}', ''])[n % 4 + 1]::"state's"
      from generate_series(1, 101) n`);
    await run("insert into keyless (body) select case when n % 2 = 0 then 'same' end from generate_series(1, 10) n");
    await run("insert into tree select rowhouse.current_tenant(), n, nullif(n / 2, 0) from generate_series(1, 20) n");
    await run(
      "insert into parts (region, day) select (array['eu', 'us', 'x'])[n % 3 + 1], date '2026-01-01' + n from generate_series(1, 30) n",
    );
  });
}

describe("tables with odd names and shapes", () => {
  it("go there and back, twice, and are erased in pieces of every size", async () => {
    const other = await server.createTenant();
    await fill(other.id);
    const others = await rowsIn(owner, "public", other.id, TABLES);
    const { id } = await server.createTenant();
    await fill(id);
    const before = await rowsIn(owner, "public", id, TABLES);
    const options = {
      ownerUrl: server.ownerUrl,
      adminUrl: server.provisionerUrl,
      rolePrefix: server.rolePrefix,
      folders,
    };
    for (const batchSize of [1, 7]) {
      for (const to of ["schema", "shared"] satisfies MoveDestination[]) {
        const { tables, erased } = await moveTenant(id, { ...options, to, batchSize });
        expect(tables.map(({ name, rows }) => [name, rows])).toContainEqual([`Order's "lines" $1`, 40]);
        expect(erased).toBe(to === "schema" ? 40 + 101 + 10 + 20 + 30 : 0);
        expect(await rowsIn(owner, to === "schema" ? tenantSchema(id) : "public", id, TABLES)).toEqual(before);
        if (to === "schema") expect(Object.values(await rowsIn(owner, "public", id, TABLES)).flat()).toEqual([]);
        const findings = await runDoctor(owner, { rolePrefix: server.rolePrefix });
        expect(findings.filter(({ schema }) => schema?.startsWith("t_"))).toEqual([]);
      }
    }
    expect(await rowsIn(owner, "public", other.id, TABLES)).toEqual(others);
  });
});
