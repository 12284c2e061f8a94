import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantRef, TenantTransaction } from "../../src/database/types.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const TENANTS = 200;
const CONNECTIONS = 8;
const ROUNDS = 8;

let server: TestDatabase;
let database: Database;

beforeAll(async () => {
  server = await createTestDatabase();
  database = createDatabase({
    url: server.appUrl,
    poolSize: CONNECTIONS,
    tenantLimit: CONNECTIONS,
    preparedStatements: true,
    applicationName: "interleaving",
    onError: () => {},
  });
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

/** A small repeatable generator (mulberry32), so that a failure can be run again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Ledger {
  tenant: TenantRef;
  stored: Set<string>;
  refused: Set<string>;
  unknown: Set<string>;
}

/** Rows that a tenant saw and that are not its own. */
const crossed: unknown[] = [];

/** What one request does after it has written its row; each ends the transaction in another way. */
const endings: Record<string, (transaction: TenantTransaction) => Promise<void>> = {
  commits: async () => {},
  commitsAfterReading: async ({ db, tenant }) => {
    const rows = await db.select().from(notes);
    crossed.push(...rows.filter((row) => row.tenantId !== tenant.id));
  },
  commitsAfterFailedSavepoint: async ({ db }) => {
    await db.transaction((inner) => inner.execute(sql`select 1 / 0`)).catch(() => {});
  },
  throws: () => Promise.reject(new Error("the handler throws")),
  breaksAConstraint: async ({ db }) => {
    await db.insert(notes).values([{ body: "twice" }, { body: "twice" }]);
  },
  swallowsAnError: async ({ db }) => {
    await db.execute(sql`select 1 / 0`).catch(() => {});
  },
  timesOut: async ({ db }) => {
    await db.execute(sql`set local statement_timeout = '5ms'`);
    await db.execute(sql`select pg_sleep(5)`);
  },
  leavesTheTenantBehind: async ({ db, tenant }) => {
    await db.execute(sql`select set_config('app.tenant_id', ${tenant.id}, false)`);
  },
};

async function request(ledger: Ledger, body: string, ending: (transaction: TenantTransaction) => Promise<void>) {
  const transaction = database.open(ledger.tenant);
  try {
    await transaction.db.insert(notes).values({ body });
    await ending(transaction);
    await transaction.commit();
    ledger.stored.add(body);
  } catch (error) {
    await transaction.rollback();
    const isUnknown = (error as { code?: string }).code === "ERR_COMMIT_UNKNOWN";
    (isUnknown ? ledger.unknown : ledger.refused).add(body);
  }
}

it(`crosses no row between ${TENANTS} tenants on ${CONNECTIONS} connections that abort, throw, time out and die`, async () => {
  const next = random(20260401);
  const made = await server.asOwner<{ id: string }>(
    "insert into rowhouse.tenants (slug, name) select 'interleaved-' || n, 'T' from generate_series(1, $1) n returning id",
    [TENANTS],
  );
  const ledgers: Ledger[] = made.rows.map(({ id }) => ({
    tenant: { id, placement: "shared", epoch: 1 },
    stored: new Set(),
    refused: new Set(),
    unknown: new Set(),
  }));

  const names = Object.keys(endings);
  const work = Array.from({ length: TENANTS * ROUNDS }, (_, n) => ({
    ledger: ledgers[Math.floor(next() * TENANTS)]!,
    body: `request ${n}`,
    ending: endings[names[Math.floor(next() * names.length)]!]!,
  }));
  let killed = 0;
  let done = 0;
  const worker = async () => {
    for (let job = work.pop(); job; job = work.pop()) {
      await request(job.ledger, job.body, job.ending);
      // Every so often one of the connections dies, whatever it is doing.
      if (++done % 40 === 0) {
        const { rows } = await server.asAdmin(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = $1 and application_name = 'interleaving' order by random() limit 1`,
          [server.name],
        );
        killed += rows.length;
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS * 4 }, worker));
  expect(killed).toBeGreaterThan(10);
  expect(crossed).toEqual([]);

  const { rows } = await server.asOwner("select tenant_id, body from public.notes");
  const found = new Map<string, Set<string>>(ledgers.map((ledger) => [ledger.tenant.id, new Set()]));
  for (const row of rows) found.get(row["tenant_id"] as string)!.add(row["body"] as string);
  let acknowledged = 0;
  let refused = 0;
  for (const ledger of ledgers) {
    const rowsOfTenant = found.get(ledger.tenant.id)!;
    for (const body of ledger.stored) expect(rowsOfTenant).toContain(body);
    for (const body of ledger.refused) expect(rowsOfTenant).not.toContain(body);
    for (const body of rowsOfTenant) expect(ledger.stored.has(body) || ledger.unknown.has(body)).toBe(true);
    acknowledged += ledger.stored.size;
    refused += ledger.refused.size;
  }
  // The control: both outcomes really happened, many times.
  expect(acknowledged).toBeGreaterThan(TENANTS);
  expect(refused).toBeGreaterThan(TENANTS);

  const { rows: dirty } = await server.asAdmin(
    `select state from pg_stat_activity
     where datname = $1 and application_name = 'interleaving' and state <> 'idle'`,
    [server.name],
  );
  expect(dirty).toEqual([]);
  const { rows: locks } = await server.asAdmin(
    "select 1 from pg_locks l join pg_database d on d.oid = l.database where d.datname = $1 and l.locktype = 'advisory'",
    [server.name],
  );
  expect(locks).toEqual([]);
}, 120_000);
