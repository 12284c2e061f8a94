import { once } from "node:events";
import { and, eq, sql } from "drizzle-orm";
import { text } from "drizzle-orm/pg-core";
import { z } from "zod";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  belongsTo,
  created,
  defineFeature,
  found,
  idOf,
  stream,
  tenantTable,
  type FeatureOptions,
  type TenantDb,
} from "../../src/index.ts";
import { formatProbeReport, probe, type RouteReport } from "../../src/testing/index.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const notes = tenantTable("notes", { body: text().notNull() });
const tags = tenantTable("note_tags", { noteId: belongsTo(() => notes).notNull(), tag: text().notNull() });

let server: TestDatabase;

beforeEach(async () => {
  server = await createTestDatabase();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await server.drop();
});

async function seedNotes(db: TenantDb): Promise<void> {
  // The first note has no tag: ids at the same place of their tables do not belong together.
  const [, second] = await db
    .insert(notes)
    .values([{ body: "one" }, { body: "two" }])
    .returning();
  await db.insert(tags).values({ noteId: second!.id, tag: "red" });
}

async function probeAll(
  routes: FeatureOptions["routes"],
  seed = seedNotes,
  tables: FeatureOptions["tables"] = { notes, tags },
) {
  const feature = defineFeature({ name: "notes", tables, ...(routes ? { routes } : {}), seed });
  const report = await probe({ features: [feature], url: server.appUrl, ownerUrl: server.ownerUrl });
  // However it went, nothing is left.
  const left = `select (select count(*) from rowhouse.tenants where slug like 'probe-%') + (select count(*) from public.notes)
    + (select count(*) from public.note_tags) as rows`;
  expect((await server.asOwner(left)).rows).toEqual([{ rows: "0" }]);
  return report;
}

async function probeOne(
  routes: FeatureOptions["routes"],
  seed?: typeof seedNotes,
  tables?: FeatureOptions["tables"],
): Promise<RouteReport> {
  const report = await probeAll(routes, seed, tables);
  expect(report.routes).toHaveLength(1);
  expect(report.passed).toBe(report.routes[0]!.verdict === "passed");
  return report.routes[0]!;
}

const endless = () =>
  stream(
    async function* ({ signal }) {
      yield "one";
      if (!signal.aborted) await once(signal, "abort");
    },
    { type: "text/plain" },
  );

const failedChecks = ({ checks }: RouteReport) => checks.filter((check) => !check.ok).map((check) => check.name);

async function dropWall(...tables: string[]): Promise<void> {
  for (const table of tables) await server.asOwner(`drop policy tenant_isolation on public.${table}`);
}

/** A function of the owner's that the application may call: it sees every tenant's rows. */
async function createDefiner(definition: string): Promise<void> {
  await server.asOwner(`create function public.${definition}`);
  const name = definition.slice(0, definition.indexOf("("));
  await server.asOwner(`grant execute on function public.${name} to ${server.rolePrefix}_app`);
}

describe("the probe sees", () => {
  const nested: FeatureOptions["routes"] = (route) =>
    route.get("/notes/:noteId/tags/:id", { params: { noteId: idOf(notes), id: idOf(tags) } }, async ({ db, params }) =>
      found(
        await db
          .select()
          .from(tags)
          .where(and(eq(tags.id, params.id), eq(tags.noteId, params.noteId))),
      ),
    );

  it("nothing wrong with a row below another while the wall stands", async () => {
    expect(failedChecks(await probeOne(nested))).toEqual([]);
  });

  it("a fallen wall behind a path of two ids, where neither alone finds anything", async () => {
    await dropWall("notes", "note_tags");
    expect(failedChecks(await probeOne(nested))).toEqual(["another tenant's ids in all places at once"]);
  });

  it("a list that leaks only without its filter", async () => {
    const list: FeatureOptions["routes"] = (route) =>
      route.get("/tags", { query: { noteId: idOf(notes).optional() } }, async ({ db, query }) => {
        if (query.noteId) found(await db.select().from(notes).where(eq(notes.id, query.noteId)));
        return db
          .select()
          .from(tags)
          .where(query.noteId ? eq(tags.noteId, query.noteId) : undefined);
      });
    expect(failedChecks(await probeOne(list))).toEqual([]);
    await dropWall("note_tags");
    expect(failedChecks(await probeOne(list))).toEqual(["nothing of another tenant in the answer"]);
  });

  it("an answer to the tenant's own id with another tenant's row beside it", async () => {
    await dropWall("note_tags");
    const report = await probeOne((route) =>
      route.get("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params }) => ({
        ...found(await db.select().from(notes).where(eq(notes.id, params.id))),
        tags: await db.select().from(tags),
      })),
    );
    expect(failedChecks(report)).toEqual(["nothing of another tenant in the answer"]);
  });

  it("an error that says that the id exists", async () => {
    await createDefiner(
      `owner_of(wanted uuid) returns uuid language sql security definer set search_path = ''
       return (select n.tenant_id from public.notes n where n.id = wanted)`,
    );
    const report = await probeOne((route) =>
      route.get("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params, tenant }) => {
        const { rows } = await db.execute<{ owner: string }>(sql`select public.owner_of(${params.id}) as owner`);
        const [{ owner } = { owner: "" }] = rows;
        if (owner && owner !== tenant.id) throw new Error("not yours");
        return found(await db.select().from(notes).where(eq(notes.id, params.id)));
      }),
    );
    expect(failedChecks(report)).toEqual(["another tenant's id in params.id"]);
    expect(report.checks[0]!.detail).toMatch(/^answered 500 .* while an id that never existed is answered 404 /);
  });

  it("a write past the wall, also to a table that no feature declares, and in an answer that is the same", async () => {
    await createDefiner(
      `retag(wanted uuid) returns void language sql security definer set search_path = ''
       begin atomic update public.note_tags set tag = 'seen' where note_id = wanted; end`,
    );
    const report = await probeOne(
      (route) =>
        route.put("/notes/:id/tag", { params: { id: idOf(notes) } }, async ({ db, params }) => {
          await db.execute(sql`select public.retag(${params.id})`);
        }),
      seedNotes,
      { notes },
    );
    expect(failedChecks(report)).toEqual(["the other tenant's rows are unchanged"]);
  });

  it("a unique constraint over all tenants", async () => {
    await server.asOwner("create unique index bodies on public.notes (body)");
    const list = await probeOne((route) => route.get("/notes", {}, ({ db }) => db.select().from(notes)));
    expect(list.reason).toMatch(/^a second tenant could not be seeded alike: .* Does a constraint lack tenant_id\?$/);
  });

  it("two answers that are the same because both are errors of the program", async () => {
    const report = await probeOne((route) =>
      route.get("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params }) => {
        const [note] = await db.select().from(notes).where(eq(notes.id, params.id));
        return { body: note!.body };
      }),
    );
    expect(report.checks[0]).toMatchObject({
      ok: false,
      detail: expect.stringContaining("proves nothing: answer 404"),
    });
    expect(failedChecks(report)).toEqual(["another tenant's id in params.id"]);
  });
});

describe("what cannot be probed fails and says what to add", () => {
  const reasonOf = async (routes: FeatureOptions["routes"], seed?: typeof seedNotes) => {
    const { verdict, reason } = await probeOne(routes, seed);
    expect(verdict).toBe("failed");
    return reason;
  };
  const ids = z.object({ noteIds: z.array(idOf(notes)) });

  it("a list of ids for which the sample has no element", async () => {
    const reason = await reasonOf((route) =>
      route.post("/x", { body: ids, probe: { body: { noteIds: [] } } }, () => 1),
    );
    expect(reason).toContain("the sample has no place for body.noteIds.*: let `probe.body` hold an element for it");
  });

  it("an id that the schema drops with this sample", async () => {
    const body = z.union([z.object({ title: z.string() }), ids]);
    const reason = await reasonOf((route) =>
      route.post("/x", { body, probe: { body: { title: "one", noteIds: [""] } } }, () => 1),
    );
    expect(reason).toContain("with this sample the schema drops body.noteIds.*");
  });

  it("a sample that is not valid", async () => {
    const query = { status: z.enum(["open", "done"]) };
    expect(await reasonOf((route) => route.get("/x", { query }, () => 1))).toContain("not valid: query.status: ");
  });

  it("a skip without a reason, and a report of skipped routes only", async () => {
    expect(await reasonOf((route) => route.get("/x", { probe: { skip: " " } }, () => 1))).toContain("has to say why");
    const report = await probeAll((route) => route.get("/x", { probe: { skip: "public" } }, () => 1));
    expect(report).toMatchObject({ passed: false, routes: [{ verdict: "skipped", reason: "public" }] });
  });

  it("a route for whose table no seed makes a row", async () => {
    const reason = await reasonOf(
      (route) => route.get("/notes/:id", { params: { id: idOf(notes) } }, () => 1),
      () => Promise.resolve(),
    );
    expect(reason).toBe("no seed makes a row for params.id: add one to a feature's `seed`");
  });

  it("a seed that fails", async () => {
    const reason = await reasonOf(
      (route) => route.get("/notes", {}, () => 1),
      async (db) => {
        await seedNotes(db);
        throw new Error("no more");
      },
    );
    expect(reason).toBe("a tenant could not be seeded: no more");
  });

  it("a stream without an end", async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout(300));
    const reason = await reasonOf((route) => route.get("/events", { transaction: "none" }, endless));
    expect(reason).toContain("its answer does not end");
  });

  it("a value in the sample that a seed has taken", async () => {
    const report = await probeOne((route) =>
      route.post(
        "/notes",
        { body: z.object({ body: z.string() }), probe: { body: { body: "one" } } },
        async ({ db, body }) => created(found(await db.insert(notes).values(body).returning())),
      ),
    );
    expect(failedChecks(report)).toEqual(["the tenant's own request succeeds"]);
    expect(report.checks.at(-1)!.detail).toContain("A value of `probe.body` is taken: choose one that no seed uses");
  });
});

it("removes rows that refer to each other in a circle, and what triggers write of the removal", async () => {
  await server.asOwner(
    `alter table public.notes add column main_tag uuid,
       add foreign key (tenant_id, main_tag) references public.note_tags (tenant_id, id) on delete restrict;
     create table public.removals (tenant_id uuid not null default rowhouse.current_tenant(), note_id uuid not null);
     create function public.record_removal() returns trigger language plpgsql security definer set search_path = '' as
       $$ begin insert into public.removals (note_id) values (old.id); return null; end $$;
     create trigger record_removal after delete on public.notes for each row execute function public.record_removal()`,
  );
  const remove: FeatureOptions["routes"] = (route) =>
    route.delete("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params }) => {
      found(await db.delete(notes).where(eq(notes.id, params.id)).returning());
    });
  const report = await probeOne(remove, async (db) => {
    await seedNotes(db);
    await db.execute(sql`update public.notes n set main_tag = t.id from public.note_tags t where t.note_id = n.id`);
  });
  expect(report.verdict).toBe("passed");
  expect((await server.asOwner("select * from public.removals")).rows).toEqual([]);
});

it("reads ids from a query that takes a list of them", async () => {
  const byIds: FeatureOptions["routes"] = (route) =>
    route.get("/notes/some", { query: { id: z.array(idOf(notes)) } }, async ({ db, query }) =>
      found(await db.select().from(notes).where(eq(notes.id, query.id[0]!))),
    );
  expect((await probeOne(byIds)).verdict).toBe("passed");
  await dropWall("notes");
  expect(failedChecks(await probeOne(byIds))).toEqual(["another tenant's id in query.id.*"]);
});

it("writes a report for people", async () => {
  const report = await probeAll((route) => {
    route.get("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params }) =>
      found(await db.select().from(notes).where(eq(notes.id, params.id))),
    );
    route.get("/notes", {}, () => []);
    route.get("/about", { probe: { skip: "public" } }, () => 1);
    route.get("/notes/:slug/x", { params: { slug: z.string() } }, () => 1);
  });
  expect(formatProbeReport(report).split("\n")).toEqual([
    "PASSED  GET    /notes/:id",
    "        ok   another tenant's id in params.id",
    "        ok   nothing of another tenant in the answer",
    "        ok   the other tenant's rows are unchanged",
    "        ok   the tenant's own request succeeds",
    "FAILED  GET    /notes",
    "        ok   nothing of another tenant in the answer",
    "        ok   the other tenant's rows are unchanged",
    expect.stringContaining(
      "        FAIL the tenant's own request succeeds: its answer holds none of the tenant's own ids",
    ),
    "SKIPPED GET    /about  (public)",
    expect.stringMatching(/^FAILED {2}GET {4}\/notes\/:slug\/x {2}\(:slug is no id that the probe knows/),
    "",
    "probed 2 of 4 routes (1 skipped, 1 could not be probed): 7 checks, 1 failed",
  ]);
});
