import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SqlConnection } from "../../../src/database/sql-connection.ts";
import { rewriteStatement } from "../../../src/migrations/rewrite/rewrite-statement.ts";
import { splitStatements } from "../../../src/migrations/split-statements.ts";
import { createTestDatabase, type TestDatabase } from "../../helpers/database.ts";

/*
 * corpus/NNNN_name.sql is what drizzle-kit 0.31 makes of schemas/, .expected.sql what a dedicated schema gets of it.
 * After a change that is meant: UPDATE=1 npx vitest run test/migrations/rewrite
 */

const CORPUS = path.join(import.meta.dirname, "corpus");
const SCHEMA = `t_${"0123456789abcdef".repeat(2)}`;

const files = (await readdir(CORPUS)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
const read = (name: string) => readFile(path.join(CORPUS, name), "utf8");
const statementsOf = async (name: string) => splitStatements(await read(name));

async function rewritten(name: string): Promise<string[]> {
  const names = { schema: SCHEMA, role: "rowhouse_t_x", appRole: "rowhouse_app" };
  const texts: string[] = [];
  for (const statement of await statementsOf(name)) {
    const text = await rewriteStatement(`app/${name}`, statement, names);
    if (text !== undefined) texts.push(text);
  }
  return texts;
}

describe("drizzle-kit's statements", () => {
  it("are at least sixty", async () => {
    const all = await Promise.all(files.map(statementsOf));
    expect(all.flat().length).toBeGreaterThanOrEqual(60);
  });

  it.each(files)("of %s are rewritten as before", async (name) => {
    const text = (await rewritten(name)).map((statement) => `${statement};\n`).join("");
    const golden = name.replace(".sql", ".expected.sql");
    if (process.env["UPDATE"]) await writeFile(path.join(CORPUS, golden), text);
    expect(text).toBe(await read(golden));
  });
});

describe("a dedicated schema", () => {
  let server: TestDatabase;
  let owner: SqlConnection;

  beforeAll(async () => {
    server = await createTestDatabase();
    owner = await server.connectAsOwner();
    // Of the fixtures' tables, so that only the corpus is compared.
    await owner.query(`do $$ declare t text; begin
      for t in select c.oid::regclass from pg_class c where c.relnamespace in ('public'::regnamespace, 'global'::regnamespace)
        and c.relkind in ('r', 'p') and not c.relispartition
      loop execute 'drop table ' || t || ' cascade'; end loop;
    end $$`);
    await owner.query(`create schema ${SCHEMA}`);
  });
  afterAll(() => server.drop());

  /** What the catalog says of a schema, in words that do not depend on its name or on tenant_id's place. */
  async function shapeOf(schema: string): Promise<string[]> {
    const { rows } = await owner.query<{ line: string }>(
      `select 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull::text
          || a.attidentity::text || a.attgenerated::text || coalesce(pg_get_expr(d.adbin, d.adrelid), '') as line
       from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
       where c.relnamespace = $1::text::regnamespace and a.attnum > 0 and not a.attisdropped and c.relkind <> 'i'
       union all select c.relkind::text || ' ' || c.relname || coalesce(c.reloptions::text, '') from pg_class c where c.relnamespace = $1::text::regnamespace
       union all select 'constraint ' || conname || ' ' || contype::text || pg_get_constraintdef(oid) from pg_constraint where connamespace = $1::text::regnamespace
       union all select 'index ' || indexdef from pg_indexes where schemaname = $1::text
       union all select 'type ' || typname || coalesce((select string_agg(enumlabel, ',' order by enumsortorder) from pg_enum where enumtypid = t.oid), '')
         from pg_type t where typnamespace = $1::text::regnamespace and typtype = 'e'
       union all select 'sequence ' || sequencename || start_value || ' ' || increment_by || ' ' || cache_size from pg_sequences where schemaname = $1::text
       union all select 'view ' || viewname || definition from pg_views where schemaname = $1::text
       union all select 'matview ' || matviewname || definition from pg_matviews where schemaname = $1::text`,
      [schema],
    );
    return rows
      .map(({ line }) =>
        line.replaceAll(`${schema}.`, "").replace(/\(tenant_id, ([^()]*(?:\([^()]*\)[^()]*)*)\)/g, "($1, tenant_id)"),
      )
      .sort();
  }

  it.each(files)("is the shared one in all but names and the place of tenant_id, after %s", async (name) => {
    await owner.query("set search_path = public, extensions, pg_temp");
    for (const { text } of await statementsOf(name)) await owner.query(text);
    await owner.query(`set search_path = ${SCHEMA}, extensions, pg_temp`);
    for (const text of await rewritten(name)) await owner.query(text);
    const [shared, dedicated] = [await shapeOf("public"), await shapeOf(SCHEMA)];
    expect(shared.length).toBeGreaterThan(10);
    expect(dedicated).toEqual(shared);
    const { rows } = await owner.query<{ n: number }>(
      `select count(*)::int as n from pg_index i join pg_class c on c.oid = i.indrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
       where c.relnamespace = $1::text::regnamespace and a.attname = 'tenant_id' and i.indnkeyatts > 1`,
      [SCHEMA],
    );
    expect(rows[0]?.n).toBe(0);
  });
});
