import { randomUUID } from "node:crypto";
import { serverErrorOf } from "../../src/database/server-error.ts";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { TENANT_A, TENANT_B, type ShopDatabase } from "../doctor/shop.ts";

const TABLES = ["public.customers", "public.orders", "public.visits", "rowhouse.api_keys"];

/** What one tenant can do to another in this database; empty when the wall holds. Tries everything, keeps nothing. */
export async function crossTenantBreaches(database: ShopDatabase): Promise<string[]> {
  await using app = await connectSql(database.appUrl, "test sabotage");
  const breaches: string[] = [];
  for (const [self, other] of [
    [TENANT_A, TENANT_B],
    [TENANT_B, TENANT_A],
  ] as const) {
    const neighbour = { app, self, other, rolePrefix: database.rolePrefix };
    const entered = await tryAs(neighbour, "select 1");
    if (entered.code !== undefined) breaches.push(`cannot enter a tenant: ${entered.message}`);
    else for (const attack of ATTACKS) breaches.push(...(await attack(neighbour)));
  }
  return grouped(breaches);
}

/** `what: where` for each breach becomes one `what: where, where`. */
function grouped(breaches: readonly string[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const breach of breaches) {
    const [what = "", where = ""] = breach.split(/: (.*)/s);
    places.set(what, (places.get(what) ?? new Set()).add(where));
  }
  return [...places].map(([what, where]) => `${what}: ${[...where].sort().join(", ")}`).sort();
}

interface Neighbour {
  readonly app: SqlConnection;
  readonly self: string;
  readonly other: string;
  readonly rolePrefix: string;
}

type Attack = (neighbour: Neighbour) => Promise<string[]>;
type Answer =
  { rows: Record<string, unknown>[]; rowCount: number; code: undefined } | { code: string; message: string };

/** One statement in a transaction of the tenant, rolled back. */
async function tryAs({ app, self }: Neighbour, text: string, values: unknown[] = []): Promise<Answer> {
  try {
    await app.query(`begin; select rowhouse.enter('${self}', 1)`);
    return { ...(await app.query(text, values)), code: undefined };
  } catch (error) {
    const { code, message } = serverErrorOf(error)!;
    return { code, message };
  } finally {
    await app.query("rollback");
  }
}

const readsOthers: Attack = async (neighbour) => {
  const readable = await tryAs(
    neighbour,
    `select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, a.attname as column
     from pg_catalog.pg_class c
     join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     join pg_catalog.pg_attribute a on a.attrelid = c.oid
       and a.attname = case when c.oid = 'rowhouse.tenants'::pg_catalog.regclass then 'id' else 'tenant_id' end
     where c.relkind in ('r', 'p', 'v', 'm') and pg_catalog.has_table_privilege(c.oid, 'select')`,
  );
  if (readable.code !== undefined) return [];
  const breaches: string[] = [];
  for (const { name, column } of readable.rows as { name: string; column: string }[]) {
    const answer = await tryAs(
      neighbour,
      `select pg_catalog.count(*) filter (where ${column} = $1)::integer as own,
         pg_catalog.count(*) filter (where ${column} <> $1)::integer as others from ${name}`,
      [neighbour.self],
    );
    if (answer.code !== undefined) continue;
    if (answer.rows[0]!["others"] !== 0) breaches.push(`shows another tenant's rows: ${name}`);
    if (answer.rows[0]!["own"] === 0 && TABLES.includes(name)) breaches.push(`hides the tenant's own rows: ${name}`);
  }
  return breaches;
};

const changesOthers: Attack = async (neighbour) => {
  const breaches: string[] = [];
  for (const table of TABLES) {
    const updated = await tryAs(neighbour, `update ${table} set tenant_id = tenant_id where tenant_id = $1`, [
      neighbour.other,
    ]);
    if (updated.code === undefined && updated.rowCount > 0)
      breaches.push(`lets another tenant's rows be updated: ${table}`);
    // Without a condition no column is read, so only the policies for DELETE are asked.
    const own = await tryAs(neighbour, `select from ${table} where tenant_id = $1`, [neighbour.self]);
    const deleted = await tryAs(neighbour, `delete from ${table}`);
    if (deleted.code === undefined && own.code === undefined && deleted.rowCount > own.rowCount)
      breaches.push(`lets another tenant's rows be deleted: ${table}`);
    const emptied = await tryAs(neighbour, `truncate ${table} cascade`);
    if (emptied.code === undefined) breaches.push(`can be truncated: ${table}`);
  }
  return breaches;
};

const plantsRows: Attack = async (neighbour) => {
  const breaches: string[] = [];
  for (const table of TABLES) {
    const given = await tryAs(neighbour, `update ${table} set tenant_id = $1`, [neighbour.other]);
    if (given.code === undefined ? given.rowCount > 0 : given.code !== "42501") {
      breaches.push(`lets a row be given to another tenant: ${table}`);
    }
    const inserted = await tryAs(neighbour, `insert into ${table} (tenant_id) values ($1)`, [neighbour.other]);
    if (inserted.code !== "42501") breaches.push(`lets a row be inserted for another tenant: ${table}`);
  }
  return breaches;
};

const fillsInItsTenant: Attack = async (neighbour) => {
  const answer = await tryAs(neighbour, "insert into public.visits default values returning tenant_id");
  if (answer.code !== undefined) return [`cannot insert without naming the tenant: ${answer.message}`];
  return answer.rows[0]!["tenant_id"] === neighbour.self ? [] : ["fills in another tenant: public.visits"];
};

/** Asks by way of keys and references, which are checked past the policies. */
const asksKeys: Attack = async (neighbour) => {
  const { app, other, self } = neighbour;
  const known = await tryAs(
    { ...neighbour, app, self: other },
    "select id, email from public.customers where tenant_id = $1",
    [other],
  );
  if (known.code !== undefined || known.rows.length === 0) return [];
  const { id, email } = known.rows[0]!;
  const breaches: string[] = [];
  const referring = await tryAs(neighbour, "insert into public.orders (tenant_id, customer_id) values ($1, $2)", [
    self,
    id,
  ]);
  if (referring.code === undefined) breaches.push("can refer to another tenant's row: public.orders");
  const taken = await tryAs(neighbour, "insert into public.customers (tenant_id, email) values ($1, $2)", [
    self,
    email,
  ]);
  if (taken.code === "23505") breaches.push("tells what another tenant has: public.customers");
  return breaches;
};

/** Calls every function that needs no argument, and looks for the other tenant in the answer. */
const asksFunctions: Attack = async (neighbour) => {
  const callable = await tryAs(
    neighbour,
    `select pg_catalog.format('%I.%I', n.nspname, p.proname) as name
     from pg_catalog.pg_proc p
     join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('public', 'rowhouse') and p.pronargs = 0 and p.prokind = 'f'
       and p.prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype
       and pg_catalog.has_function_privilege(p.oid, 'execute')`,
  );
  const breaches: string[] = [];
  for (const { name } of (callable.code === undefined ? callable.rows : []) as { name: string }[]) {
    const answer = await tryAs(neighbour, `select f::text as answer from ${name}() as f`);
    const tells =
      answer.code === undefined && answer.rows.some((row) => String(row["answer"]).includes(neighbour.other));
    if (tells) breaches.push(`tells of another tenant: ${name}()`);
  }
  return breaches;
};

const escapes: Attack = async (neighbour) => {
  const breaches: string[] = [];
  for (const kind of ["owner", "worker", "queue"]) {
    const answer = await tryAs(neighbour, `set local role ${neighbour.rolePrefix}_${kind}`);
    if (answer.code === undefined) breaches.push(`can become: the ${kind}`);
  }
  const temporary = await tryAs(neighbour, "create temporary table left_behind (id integer)");
  if (temporary.code === undefined) breaches.push("can make: temporary tables");
  const stranger = await tryAs({ ...neighbour, self: randomUUID() }, "select 1");
  if (stranger.code === undefined) breaches.push("can enter: a tenant that does not exist");
  return breaches;
};

/** A plan made for one tenant is used again for the next one on the connection. */
const reusesPlans: Attack = async ({ app, self, other }) => {
  const execute = async (tenant: string) => {
    const answer = await tryAs({ app, self: tenant, other, rolePrefix: "" }, "execute every_tenant");
    return answer.code === undefined ? answer.rows.map((row) => row["tenant_id"]) : [];
  };
  await app.query(
    "set plan_cache_mode = force_generic_plan; prepare every_tenant as select o.tenant_id from public.orders o",
  );
  try {
    await execute(self);
    return (await execute(other)).includes(self) ? ["stays with its first tenant: a plan"] : [];
  } finally {
    await app.query("deallocate every_tenant");
  }
};

const ATTACKS: readonly Attack[] = [
  readsOthers,
  changesOthers,
  plantsRows,
  fillsInItsTenant,
  asksKeys,
  asksFunctions,
  escapes,
  reusesPlans,
];
