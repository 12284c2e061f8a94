import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createDatabase, type DatabaseOptions } from "../../src/database/database.ts";
import type { Database, TenantRef, TenantTransaction } from "../../src/database/types.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { notes, noteTags } from "../fixtures/tables.ts";

let server: TestDatabase;
let database: Database;
let a: TenantRef;
let b: TenantRef;

function connect(options: Partial<DatabaseOptions> = {}): Database {
  const opened = createDatabase({
    url: server.appUrl,
    poolSize: 4,
    tenantLimit: 3,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
    ...options,
  });
  onTestFinished?.(() => opened.close());
  return opened;
}

async function newTenant(slug: string): Promise<TenantRef> {
  const tenant = await server.createTenant({ slug });
  return { id: tenant.id, placement: "shared", epoch: 1 };
}

const bodies = async (tenant: TenantRef): Promise<string[]> => {
  const transaction = database.open(tenant, { readOnly: true });
  const rows = await transaction.db.select().from(notes).orderBy(notes.body);
  await transaction.rollback();
  return rows.map((row) => row.body);
};

const pid = async (transaction: TenantTransaction): Promise<number> => {
  const result = await transaction.db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  return result.rows[0]!.pid;
};

const kill = (backend: number) => server.asAdmin("select pg_terminate_backend($1)", [backend]);

/** Resolves once some backend of this database waits for a lock. */
const untilSomeoneWaits = () =>
  expect
    .poll(() =>
      server
        .asAdmin(
          "select count(*)::int as n from pg_locks l join pg_stat_activity s using (pid) where not l.granted and s.datname = $1",
          [server.name],
        )
        .then(({ rows }) => rows[0]!["n"]),
    )
    .toBeGreaterThan(0);

beforeAll(async () => {
  server = await createTestDatabase();
  database = createDatabase({
    url: server.appUrl,
    poolSize: 4,
    tenantLimit: 3,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
  });
});

afterAll(async () => {
  await database.close();
  await server.drop();
});

describe("the wall", () => {
  it("shows a tenant its own rows and nobody else's", async () => {
    a = await newTenant("wall-a");
    b = await newTenant("wall-b");
    const writing = database.open(a);
    const [stored] = await writing.db.insert(notes).values({ body: "of a" }).returning();
    await writing.commit();
    expect(stored?.tenantId).toBe(a.id);
    expect(await bodies(b)).toEqual([]);
    expect(await bodies(a)).toEqual(["of a"]);
  });

  it("cannot write a row for another tenant", async () => {
    const [x, y] = [await newTenant("forge-x"), await newTenant("forge-y")];
    const forging = database.open(x);
    await expect(forging.db.insert(notes).values({ body: "forged", tenantId: y.id })).rejects.toMatchObject({
      code: "ERR_PERMISSION_DENIED",
    });
    await forging.rollback();
    expect(await bodies(y)).toEqual([]);
    const honest = database.open(x);
    await honest.db.insert(notes).values({ body: "own", tenantId: x.id });
    await honest.commit();
    expect(await bodies(x)).toEqual(["own"]);
  });

  it("cannot update, delete or move another tenant's row", async () => {
    const [x, y] = [await newTenant("touch-x"), await newTenant("touch-y")];
    const writing = database.open(y);
    await writing.db.insert(notes).values({ body: "of y" });
    await writing.commit();

    const touching = database.open(x);
    expect((await touching.db.update(notes).set({ body: "taken" })).rowCount).toBe(0);
    expect((await touching.db.delete(notes)).rowCount).toBe(0);
    await touching.commit();
    expect(await bodies(y)).toEqual(["of y"]);

    const moving = database.open(y);
    await expect(moving.db.update(notes).set({ tenantId: x.id })).rejects.toMatchObject({
      code: "ERR_PERMISSION_DENIED",
    });
    await moving.rollback();

    const own = database.open(y);
    expect((await own.db.update(notes).set({ body: "changed" })).rowCount).toBe(1);
    await own.commit();
    expect(await bodies(y)).toEqual(["changed"]);
  });

  it("shows zero rows and refuses writes without a tenant", async () => {
    const c = await newTenant("no-tenant");
    const writing = database.open(c);
    await writing.db.insert(notes).values({ body: "there" });
    await writing.commit();
    const bare = await server.connectAsApp();
    expect((await bare.query("select * from public.notes")).rows).toEqual([]);
    await expect(
      bare.query("insert into public.notes (tenant_id, body) values ($1, 'x')", [c.id]),
    ).rejects.toMatchObject({
      code: "ERR_PERMISSION_DENIED",
    });
    await bare.end();
    expect((await server.asOwner("select * from public.notes where tenant_id = $1", [c.id])).rows).toHaveLength(1);
  });
});

describe("entering", () => {
  it("refuses a tenant that does not exist", async () => {
    const nobody = { id: "00000000-0000-7000-8000-000000000000", placement: "shared", epoch: 1 } as const;
    const transaction = database.open(nobody);
    await expect(transaction.db.select().from(notes)).rejects.toMatchObject({
      code: "ERR_TENANT_NOT_FOUND",
      message: "There is no such tenant.",
    });
    await transaction.rollback();
  });

  it("refuses a suspended tenant and lets a resumed one in", async () => {
    const c = await newTenant("suspended");
    await server.asOwner("update rowhouse.tenants set status = 'suspended' where id = $1", [c.id]);
    const refused = database.open(c);
    await expect(refused.db.insert(notes).values({ body: "no" })).rejects.toMatchObject({
      code: "ERR_TENANT_SUSPENDED",
    });
    await refused.rollback();
    await server.asOwner("update rowhouse.tenants set status = 'active' where id = $1", [c.id]);
    expect(await bodies(c)).toEqual([]);
  });

  it("begins anew, as what the tenant is now, where it believed in an old placement", async () => {
    const c = await newTenant("moved");
    await server.asOwner("update rowhouse.tenants set epoch = 2 where id = $1", [c.id]);
    await expect(server.asApp("select rowhouse.enter($1, 1)", [c.id])).rejects.toMatchObject({
      cause: { code: "RH003" },
    });
    const stale = database.open(c);
    expect(await stale.db.select().from(notes)).toEqual([]);
    expect(stale.tenant).toMatchObject({ id: c.id, epoch: 2 });
    await stale.commit();
  });

  it("refuses a tenant that has moved to where this process cannot follow", async () => {
    const c = await newTenant("away");
    await server.asOwner("update rowhouse.tenants set placement = 'database' where id = $1", [c.id]);
    const transaction = database.open(c);
    await expect(transaction.db.select().from(notes)).rejects.toMatchObject({ code: "ERR_PLACEMENT_CHANGED" });
    await transaction.rollback();
  });

  it("waits while the tenant's lock is held exclusively, and sees what its holder committed", async () => {
    const c = await newTenant("fenced");
    const mover = await server.connectAsOwner();
    await mover.query("begin");
    await mover.query("select pg_advisory_xact_lock(rowhouse.tenant_lock($1))", [c.id]);
    const transaction = database.open(c);
    const outcome = transaction.db
      .select()
      .from(notes)
      .then(
        () => "entered",
        (error: { code: string }) => error.code,
      );
    await untilSomeoneWaits();
    await mover.query("update rowhouse.tenants set status = 'suspended' where id = $1", [c.id]);
    await mover.query("commit");
    expect(await outcome).toBe("ERR_TENANT_SUSPENDED");
    await transaction.rollback();
    await mover.end();
  });

  it("holds off who wants the tenant's lock until the transaction has ended", async () => {
    const c = await newTenant("holding");
    const transaction = database.open(c);
    await transaction.db.insert(notes).values({ body: "held" });
    const owner = await server.connectAsOwner();
    const tryLock = () =>
      owner.query<{ got: boolean }>("select pg_try_advisory_xact_lock(rowhouse.tenant_lock($1)) as got", [c.id]);
    expect((await tryLock()).rows[0]!.got).toBe(false);
    await transaction.commit();
    expect((await tryLock()).rows[0]!.got).toBe(true);
    await owner.end();
  });

  it("cannot be entered a second time from inside", async () => {
    const [x, y] = [await newTenant("twice-x"), await newTenant("twice-y")];
    const transaction = database.open(x);
    await transaction.db.select().from(notes);
    await expect(transaction.db.execute(sql`select rowhouse.enter(${y.id}::uuid, 1)`)).rejects.toMatchObject({
      code: "ERR_QUERY_FAILED",
    });
    await transaction.rollback();
  });

  it("takes another connection when a tenant outlived its transaction on this one", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const [x, y] = [await newTenant("outlive-x"), await newTenant("outlive-y")];
    // A function of the application's own: from outside nobody sees what it does to the session.
    await server.asOwner(`create or replace function public.leave_tenant(id text) returns text language sql as
      $$ select set_config('app.tenant_id', id, false) $$`);
    await server.asOwner(`grant execute on function public.leave_tenant(text) to ${server.rolePrefix}_app`);
    const dirty = one.open(x);
    await dirty.db.insert(notes).values({ body: "there" });
    const [found] = await dirty.db
      .select({ backend: sql<number>`pg_backend_pid()`, left: sql`public.leave_tenant(${x.id})` })
      .from(notes);
    await dirty.commit();
    const clean = one.open(y);
    expect(await clean.db.select().from(notes)).toEqual([]);
    expect(await pid(clean)).not.toBe(found!.backend);
    await clean.commit();
  });
});

describe("what freely written SQL leaves in the session", () => {
  const leftovers: Record<string, string> = {
    "a setting": "set statement_timeout = 1",
    "a search_path": "set search_path = nowhere",
    "a read-only default": "set default_transaction_read_only = on",
    "a held cursor": "declare held cursor with hold for select body from public.notes",
    "a session's lock": "select pg_advisory_lock(4242)",
    "a listener": "listen something",
  };

  let n = 0;
  for (const [name, text] of Object.entries(leftovers)) {
    it(`does not reach the next tenant on the connection: ${name}`, async () => {
      const one = connect({ poolSize: 1, tenantLimit: 1 });
      const [x, y] = [await newTenant(`left-x-${++n}`), await newTenant(`left-y-${n}`)];
      const leaving = one.open(x);
      await leaving.db.insert(notes).values({ body: "of x" });
      const backend = await pid(leaving);
      await leaving.db.execute(sql.raw(text));
      await leaving.commit();

      const next = one.open(y);
      await next.db.insert(notes).values({ body: "of y" });
      // The control: it is the same connection, and it was cleared, not replaced.
      expect(await pid(next)).toBe(backend);
      const { rows } = await next.db.execute(sql`
        select current_setting('statement_timeout') as statement_timeout, current_setting('search_path') as search_path,
          (select count(*)::int from pg_cursors where is_holdable) as cursors,
          (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid = 4242) as locks,
          (select count(*)::int from pg_listening_channels()) as channels`);
      expect(rows).toEqual([
        { statement_timeout: "30s", search_path: "public, extensions, pg_temp", cursors: 0, locks: 0, channels: 0 },
      ]);
      await next.commit();
      expect(await bodies(y)).toEqual(["of y"]);
    });
  }

  it("cannot turn the beginning of the next tenant's transaction into another one", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const [x, y] = [await newTenant("hijack-x"), await newTenant("hijack-y")];
    for (const tenant of [x, y, x, y]) {
      const warm = one.open(tenant);
      await warm.db.insert(notes).values({ body: `of ${tenant.id} ${Math.random()}` });
      await warm.commit();
    }
    const hijacking = one.open(x);
    const { rows } = await hijacking.db.execute<{ name: string }>(
      sql`select name from pg_prepared_statements where statement like '%rowhouse.enter%'`,
    );
    await hijacking.db.execute(
      sql.raw(`do $$ begin
        execute 'deallocate ${rows[0]!.name}';
        execute 'prepare ${rows[0]!.name}(text, text) as select set_config(''app.tenant_id'', ''${x.id}'', true), $1, $2';
      end $$`),
    );
    await hijacking.commit();
    const victim = one.open(y);
    const seen = await victim.db.select().from(notes);
    await victim.commit();
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every((row) => row.tenantId === y.id)).toBe(true);
  });

  it("is cleared as well when a fragment of SQL in a built query reaches for the session", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const [x, y] = [await newTenant("fragment-x"), await newTenant("fragment-y")];
    const leaving = one.open(x);
    await leaving.db.insert(notes).values({ body: "there" });
    await leaving.db.select({ set: sql`set_config('statement_timeout', '1', false)` }).from(notes);
    await leaving.commit();
    const next = one.open(y);
    const { rows } = await next.db.execute(sql`select current_setting('statement_timeout') as value`);
    expect(rows).toEqual([{ value: "30s" }]);
    await next.commit();
  });
});

describe("a connection that dies under a handler that never answers", () => {
  it("is given back at once, with the tenant's place", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("never-answers");
    const forgotten = one.open(c);
    await kill(await pid(forgotten));
    const next = one.open(c);
    expect(await next.db.select().from(notes)).toEqual([]);
    await next.commit();
    await expect(forgotten.db.select().from(notes)).rejects.toMatchObject({ code: "ERR_CONNECTION_LOST" });
    await expect(forgotten.commit()).rejects.toMatchObject({ code: "ERR_CONNECTION_LOST" });
  });
});

describe("lazy beginning", () => {
  it("takes no connection until the first query", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const [x, y] = [await newTenant("lazy-x"), await newTenant("lazy-y")];
    const holder = one.open(x);
    await holder.db.select().from(notes);
    const idle = one.open(y);
    await idle.commit();
    await holder.commit();
    expect(idle.queryCount).toBe(0);
    expect(holder.queryCount).toBe(1);
  });

  it("gives up waiting for a connection when it is rolled back first", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const [x, y] = [await newTenant("give-up-x"), await newTenant("give-up-y")];
    const holder = one.open(x);
    await holder.db.select().from(notes);
    const waiting = one.open(y);
    const outcome = waiting.db
      .insert(notes)
      .values({ body: "never" })
      .then(
        () => "stored",
        (error: { code: string }) => error.code,
      );
    const ended = waiting.rollback();
    await holder.commit();
    await ended;
    expect(await outcome).toBe("ERR_TRANSACTION_CLOSED");
    expect(await bodies(y)).toEqual([]);
  });
});

describe("ending", () => {
  it("stores at commit and nothing at rollback", async () => {
    const c = await newTenant("ending");
    const kept = database.open(c);
    await kept.db.insert(notes).values({ body: "kept" });
    await kept.commit();
    const dropped = database.open(c);
    await dropped.db.insert(notes).values({ body: "dropped" });
    await dropped.rollback();
    expect(await bodies(c)).toEqual(["kept"]);
  });

  it("refuses a query after commit and after rollback", async () => {
    const c = await newTenant("after-end");
    for (const end of ["commit", "rollback"] as const) {
      const transaction = database.open(c);
      await transaction.db.select().from(notes);
      await transaction[end]();
      expect(transaction.isOpen).toBe(false);
      await expect(transaction.db.insert(notes).values({ body: "late" })).rejects.toMatchObject({
        code: "ERR_TRANSACTION_CLOSED",
        message: expect.stringContaining("Await every query"),
      });
      expect(() => transaction.afterCommit(() => {})).toThrow("The transaction has ended");
    }
    expect(await bodies(c)).toEqual([]);
  });

  it("says that nothing was stored when a swallowed error turned COMMIT into ROLLBACK", async () => {
    const c = await newTenant("swallowed");
    const transaction = database.open(c);
    await transaction.db.insert(notes).values({ body: "lost" });
    await transaction.db.execute(sql`select 1 / 0`).catch(() => {});
    await expect(transaction.commit()).rejects.toMatchObject({
      code: "ERR_TRANSACTION_ABORTED",
      cause: expect.objectContaining({ code: "22012" }),
    });
    expect(await bodies(c)).toEqual([]);
  });

  it("reports a constraint that only COMMIT checks", async () => {
    const c = await newTenant("deferred");
    await server.asOwner(
      "create table if not exists public.deferred (tenant_id uuid not null default rowhouse.current_tenant(), n int, " +
        "unique (tenant_id, n) deferrable initially deferred)",
    );
    await server.asOwner("create policy everything on public.deferred to public using (true) with check (true)");
    await server.asOwner(`grant select, insert on public.deferred to ${server.rolePrefix}_app`);
    const transaction = database.open(c);
    await transaction.db.execute(sql`insert into public.deferred (n) values (1), (1)`);
    await expect(transaction.commit()).rejects.toMatchObject({ code: "ERR_UNIQUE_VIOLATION" });
    expect((await server.asOwner("select * from public.deferred")).rows).toEqual([]);
    expect(await bodies(c)).toEqual([]);
  });

  it("notices when the handler's own SQL ends it, and lets nobody have that connection", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("escape");
    for (const command of ["commit", "rollback", "rollback and chain"]) {
      const escaping = one.open(c);
      const backend = await pid(escaping);
      await expect(escaping.db.execute(sql.raw(command))).rejects.toMatchObject({
        code: "ERR_TRANSACTION_CLOSED",
        message: expect.stringContaining(
          `own SQL ended the tenant's transaction (${command.split(" ")[0]!.toUpperCase()})`,
        ),
      });
      await expect(escaping.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CLOSED" });
      const next = one.open(c);
      expect(await pid(next)).not.toBe(backend);
      await next.commit();
    }
  });

  it("waits at commit for a query that nobody awaited", async () => {
    const c = await newTenant("unawaited");
    const transaction = database.open(c);
    const unawaited = transaction.db.insert(notes).values({ body: "in time" }).execute();
    await transaction.commit();
    await unawaited;
    expect(await bodies(c)).toEqual(["in time"]);
  });

  it("ends once, however often it is asked to", async () => {
    const c = await newTenant("once");
    const transaction = database.open(c);
    await transaction.db.insert(notes).values({ body: "once" });
    await Promise.all([transaction.commit(), transaction.commit(), transaction.rollback()]);
    expect(await bodies(c)).toEqual(["once"]);
    const rolledBack = database.open(c);
    await rolledBack.db.insert(notes).values({ body: "never" });
    await rolledBack.rollback();
    await expect(rolledBack.commit()).rejects.toMatchObject({ code: "ERR_TRANSACTION_CLOSED" });
    expect(await bodies(c)).toEqual(["once"]);
  });

  it("runs afterCommit hooks after COMMIT, and none after a rollback", async () => {
    const errors: unknown[] = [];
    const own = connect({ onError: (error) => errors.push(error) });
    const c = await newTenant("hooks");
    const seen: string[][] = [];
    const committed = own.open(c);
    await committed.db.insert(notes).values({ body: "hooked" });
    committed.afterCommit(() => {
      throw new Error("a hook that fails");
    });
    committed.afterCommit(async () => void seen.push(await bodies(c)));
    await committed.commit();
    expect(seen).toEqual([["hooked"]]);
    expect(errors).toMatchObject([{ message: "a hook that fails" }]);

    const rolledBack = own.open(c);
    await rolledBack.db.select().from(notes);
    rolledBack.afterCommit(() => void seen.push(["never"]));
    await rolledBack.rollback();
    expect(seen).toHaveLength(1);
  });

  it("refuses to write in a READ ONLY transaction and reads in it", async () => {
    const c = await newTenant("read-only");
    const reading = database.open(c, { readOnly: true });
    expect(await reading.db.select().from(notes)).toEqual([]);
    await expect(reading.db.insert(notes).values({ body: "no" })).rejects.toMatchObject({
      code: "ERR_READ_ONLY_TRANSACTION",
    });
    await reading.rollback();
  });
});

describe("queries side by side", () => {
  it("answers each of many parallel queries with its own rows", async () => {
    const c = await newTenant("parallel");
    const transaction = database.open(c);
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => transaction.db.execute<{ n: number }>(sql`select ${n}::int as n`)),
    );
    expect(results.map((result) => result.rows[0]!.n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    await transaction.commit();
  });

  it("reports the statement that failed first, not those that fell with it", async () => {
    const c = await newTenant("first-failure");
    const transaction = database.open(c);
    const failing = Promise.all([
      transaction.db.insert(notes).values({ body: "x" }),
      transaction.db.insert(notes).values({ body: "x" }),
      transaction.db.select().from(notes),
    ]);
    await expect(failing).rejects.toMatchObject({ code: "ERR_UNIQUE_VIOLATION", table: "notes" });
    await transaction.rollback();
    expect(await bodies(c)).toEqual([]);
  });

  it("uses a statement on after it failed inside an aborted transaction", async () => {
    const one = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("reuse");
    for (let round = 0; round < 4; round++) {
      const broken = one.open(c);
      await broken.db.execute(sql`select 1 / ${0}::int`).catch(() => {});
      await expect(broken.db.select({ id: notes.id }).from(notes)).rejects.toMatchObject({
        code: "ERR_TRANSACTION_ABORTED",
      });
      await broken.rollback();
      const healthy = one.open(c);
      expect(await healthy.db.select({ id: notes.id }).from(notes)).toEqual([]);
      await healthy.commit();
    }
  });
});

describe("a lost connection", () => {
  it("is replaced silently when it was lost in the pool", async () => {
    const own = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("lost-idle");
    const first = own.open(c);
    const backend = await pid(first);
    await first.commit();
    await kill(backend);
    const second = own.open(c);
    expect(await pid(second)).not.toBe(backend);
    await second.commit();
  });

  it("gives a clear error in the middle of a transaction, and a working next one", async () => {
    const own = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("lost-middle");
    const broken = own.open(c);
    await broken.db.insert(notes).values({ body: "lost" });
    await kill(await pid(broken));
    await expect(broken.db.select().from(notes)).rejects.toMatchObject({
      code: "ERR_CONNECTION_LOST",
      message: expect.stringMatching(/try again/i),
    });
    await expect(broken.commit()).rejects.toMatchObject({ code: "ERR_CONNECTION_LOST" });
    const next = own.open(c);
    expect(await next.db.select().from(notes)).toEqual([]);
    await next.commit();
  });

  it("leaves it open whether COMMIT was stored when it is lost during COMMIT", async () => {
    const own = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("lost-commit");
    // A deferred trigger makes COMMIT wait on a lock that the test holds.
    await server.asOwner(`create or replace function public.tg_notes__wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return null; end $$`);
    await server.asOwner(`grant execute on function public.tg_notes__wait() to ${server.rolePrefix}_app`);
    await server.asOwner(`create constraint trigger wait after insert on public.notes deferrable initially deferred
      for each row when (new.body = 'wait') execute function public.tg_notes__wait()`);
    const holder = await server.connectAsOwner();
    await holder.query("select pg_advisory_lock(4711)");
    const transaction = own.open(c);
    await transaction.db.insert(notes).values({ body: "wait" });
    const backend = await pid(transaction);
    const committing = transaction.commit().then(
      () => "stored",
      (error: { code: string }) => error.code,
    );
    await untilSomeoneWaits();
    await kill(backend);
    expect(await committing).toBe("ERR_COMMIT_UNKNOWN");
    await holder.end();
    await server.asOwner("drop trigger wait on public.notes");
    const next = own.open(c);
    expect(await next.db.select().from(notes)).toEqual([]);
    await next.commit();
  });

  it("is a clear error when there is no server", async () => {
    const nowhere = connect({ url: "postgres://nobody@127.0.0.1:1/nothing" });
    const transaction = nowhere.open({ id: "00000000-0000-7000-8000-000000000000", placement: "shared", epoch: 1 });
    await expect(transaction.db.select().from(notes)).rejects.toMatchObject({ code: "ERR_DATABASE_UNAVAILABLE" });
    await transaction.rollback();
    await expect(nowhere.ping()).rejects.toMatchObject({ code: "ERR_DATABASE_UNAVAILABLE" });
    await database.ping();
  });
});

describe("limits", () => {
  it("cancels a statement at statement_timeout and goes on with the connection", async () => {
    const c = await newTenant("timeout");
    const transaction = database.open(c);
    await transaction.db.execute(sql`set local statement_timeout = '50ms'`);
    await expect(transaction.db.execute(sql`select pg_sleep(20)`)).rejects.toMatchObject({
      code: "ERR_STATEMENT_TIMEOUT",
    });
    await transaction.rollback();
    expect(await bodies(c)).toEqual([]);
  });

  it("has the timeouts set by the role, whatever pooler stands between", async () => {
    const c = await newTenant("timeouts");
    const transaction = database.open(c);
    const result = await transaction.db.execute<{ name: string; setting: string }>(
      sql`select name, setting from pg_settings
          where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name`,
    );
    expect(result.rows.map((row) => Number(row.setting))).toEqual([30_000, 5_000, 30_000]);
    await transaction.commit();
  });

  it("keeps one tenant from taking the whole pool", async () => {
    const own = connect({ poolSize: 3, tenantLimit: 2 });
    const [flood, calm] = [await newTenant("flood"), await newTenant("calm")];
    const held = [own.open(flood), own.open(flood)];
    for (const transaction of held) await transaction.db.select().from(notes);
    const third = own.open(flood);
    let isThirdIn = false;
    const waiting = third.db
      .select()
      .from(notes)
      .then(() => (isThirdIn = true));
    const other = own.open(calm);
    await other.db.select().from(notes);
    await other.commit();
    expect(isThirdIn).toBe(false);
    await held[0]!.commit();
    await waiting;
    expect(isThirdIn).toBe(true);
    await Promise.all([held[1]!.commit(), third.commit()]);
  });
});

describe("named statements", () => {
  const prepared = async (transaction: TenantTransaction): Promise<string[]> => {
    const result = await transaction.db.execute<{ statement: string }>(
      sql`select statement from pg_prepared_statements order by statement`,
    );
    return result.rows.map((row) => row.statement);
  };

  it("prepares text that repeats, and none where that is switched off", async () => {
    const c = await newTenant("named");
    for (const preparedStatements of [true, false]) {
      const own = connect({ poolSize: 1, tenantLimit: 1, preparedStatements });
      for (let round = 0; round < 3; round++) {
        const transaction = own.open(c);
        await transaction.db.select({ body: notes.body }).from(notes);
        await transaction.commit();
      }
      const looking = own.open(c);
      const statements = await prepared(looking);
      await looking.commit();
      expect(statements.includes('select "body" from "notes"')).toBe(preparedStatements);
    }
  });

  it("survives a migration that changes the result of a prepared statement", async () => {
    const own = connect({ poolSize: 1, tenantLimit: 1 });
    const c = await newTenant("replan");
    const everything = (transaction: TenantTransaction) => transaction.db.select({ tag: noteTags.tag }).from(noteTags);
    for (let round = 0; round < 3; round++) {
      const transaction = own.open(c);
      await everything(transaction);
      await transaction.commit();
    }
    await server.asOwner("alter table public.note_tags alter column tag type varchar(200)");
    const first = own.open(c);
    await everything(first);
    await first.commit();

    for (let round = 0; round < 3; round++) {
      const transaction = own.open(c);
      await everything(transaction);
      await transaction.commit();
    }
    await server.asOwner("alter table public.note_tags alter column tag type varchar(300)");
    const later = own.open(c);
    await later.db.select().from(notes);
    await expect(everything(later)).rejects.toMatchObject({ code: "ERR_SCHEMA_CHANGED" });
    await later.rollback();
    const next = own.open(c);
    await next.db.select().from(notes);
    await everything(next);
    await next.commit();
  });
});

describe("the role at start-up", () => {
  it("accepts the app role and refuses one that could walk past the wall", async () => {
    await database.assertSafeRole();
    const asOwner = connect({ url: server.ownerUrl });
    await expect(asOwner.assertSafeRole()).rejects.toMatchObject({
      code: "ERR_UNSAFE_ROLE",
      message: expect.stringContaining("it owns tables"),
    });
  });
});
