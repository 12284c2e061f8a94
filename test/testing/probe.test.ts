import { eq, sql } from "drizzle-orm";
import { text } from "drizzle-orm/pg-core";
import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { features as invoicing, migrations } from "../../examples/invoicing/src/app.ts";
import { defineFeature, found, idOf, json, migrate, tenantTable, type FeatureOptions } from "../../src/index.ts";
import { formatProbeReport, probe, type RouteReport } from "../../src/testing/index.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const notes = tenantTable("notes", { body: text().notNull() });

let server: TestDatabase;

beforeAll(async () => {
  server = await createTestDatabase();
  await migrate({ ownerUrl: server.ownerUrl, rolePrefix: server.rolePrefix, folders: migrations });
});

afterAll(() => server.drop());

const run = (features: Parameters<typeof probe>[0]["features"], at = server) =>
  probe({ features, url: at.appUrl, ownerUrl: at.ownerUrl });

/** Probes one route over the table notes, of which each tenant has two rows. */
async function probeNotes(routes: FeatureOptions["routes"], at = server): Promise<RouteReport> {
  const feature = defineFeature({
    name: "notes",
    tables: { notes },
    ...(routes ? { routes } : {}),
    seed: (db) => db.insert(notes).values([{ body: "one" }, { body: "two" }]),
  });
  const report = await run([feature], at);
  expect(report.routes).toHaveLength(1);
  expect(report.passed).toBe(report.routes[0]!.verdict === "passed");
  return report.routes[0]!;
}

const failedChecks = ({ checks }: RouteReport) => checks.filter((check) => !check.ok).map((check) => check.name);
const byId = { params: { id: idOf(notes) } };

describe("the probe", () => {
  it("passes the example's routes and leaves the database as it was", async () => {
    const count = async () => (await server.asOwner("select count(*)::int as n from public.orders")).rows[0]!["n"];
    const before = await count();
    const report = await run(invoicing);
    expect(formatProbeReport(report)).toContain("probed 14 of 15 routes (1 skipped)");
    expect(report.passed).toBe(true);
    expect(await count()).toBe(before);
    expect((await server.asOwner("select 1 from rowhouse.tenants where slug like 'probe-%'")).rows).toEqual([]);
  });

  it("passes an honest route, as a control of the failures below", async () => {
    const report = await probeNotes((route) =>
      route.get("/notes/:id", byId, async ({ db, params }) =>
        found(await db.select().from(notes).where(eq(notes.id, params.id))),
      ),
    );
    expect(report.verdict).toBe("passed");
    expect(report.checks.map((check) => check.name)).toEqual([
      "another tenant's id in params.id",
      "nothing of another tenant in the answer",
      "the other tenant's rows are unchanged",
      "the tenant's own request succeeds",
    ]);
  });

  it("sees a wall that has fallen: reads and writes", async () => {
    await using open = await createTestDatabase();
    await open.asOwner("drop policy tenant_isolation on public.notes");
    const read = await probeNotes(
      (route) =>
        route.get("/notes/:id", byId, async ({ db, params }) =>
          found(await db.select().from(notes).where(eq(notes.id, params.id))),
        ),
      open,
    );
    expect(failedChecks(read)).toEqual(["another tenant's id in params.id"]);
    const write = await probeNotes(
      (route) =>
        route.delete("/notes/:id", byId, async ({ db, params }) => {
          await db.delete(notes).where(eq(notes.id, params.id));
        }),
      open,
    );
    expect(failedChecks(write)).toContain("the other tenant's rows are unchanged");
    const list = await probeNotes((route) => route.get("/notes", {}, async ({ db }) => db.select().from(notes)), open);
    expect(failedChecks(list)).toEqual(["nothing of another tenant in the answer"]);
  });

  it("sees an answer that tells a foreign row from a missing one", async () => {
    await server.asOwner(
      `create or replace function public.note_exists(wanted uuid) returns boolean language sql security definer
       set search_path = '' return exists (select from public.notes n where n.id = wanted)`,
    );
    await server.asOwner(`grant execute on function public.note_exists(uuid) to ${server.rolePrefix}_app`);
    const report = await probeNotes((route) =>
      route.get("/notes/:id", byId, async ({ db, params }) => {
        const [row] = await db.select().from(notes).where(eq(notes.id, params.id));
        if (row) return row;
        const { rows } = await db.execute<{ exists: boolean }>(sql`select public.note_exists(${params.id}) as exists`);
        return json({ message: "no" }, { status: rows[0]!.exists ? 403 : 404 });
      }),
    );
    expect(report.verdict).toBe("failed");
    expect(report.checks[0]).toMatchObject({ ok: false, detail: expect.stringContaining("answered 403") });
  });

  it("asks for ids inside a body and a query too", async () => {
    const report = await probeNotes((route) =>
      route.post(
        "/notes/merge",
        {
          query: { into: idOf(notes) },
          body: z.object({ parts: z.array(z.object({ noteId: idOf(notes) })), title: z.string() }),
          probe: { body: { parts: [{}], title: "merged" } },
        },
        async ({ db, query, body }) => {
          for (const id of [query.into, ...body.parts.map((part) => part.noteId)]) {
            found(await db.select().from(notes).where(eq(notes.id, id)));
          }
          return { ok: true };
        },
      ),
    );
    expect(report.verdict).toBe("passed");
    expect(report.checks.map((check) => check.name)).toEqual([
      "another tenant's id in query.into",
      "another tenant's id in body.parts.*.noteId",
      "another tenant's ids in all places at once",
      "nothing of another tenant in the answer",
      "the other tenant's rows are unchanged",
      "the tenant's own request succeeds",
    ]);
  });

  it("clears authorisation first", async () => {
    const report = await probeNotes((route) =>
      route.get("/notes/:id", { ...byId, scopes: ["a:very:special:one"] }, async ({ db, params }) =>
        found(await db.select().from(notes).where(eq(notes.id, params.id))),
      ),
    );
    expect(report.verdict).toBe("passed");
  });

  it("fails a route that refuses its own tenant, since the proof would prove nothing", async () => {
    const report = await probeNotes((route) => route.get("/notes/:id", byId, () => found(undefined)));
    expect(failedChecks(report)).toEqual(["the tenant's own request succeeds"]);
  });

  it("fails a list that shows nobody anything", async () => {
    const report = await probeNotes((route) => route.get("/notes", {}, () => []));
    expect(failedChecks(report)).toEqual(["the tenant's own request succeeds"]);
  });

  it("fails a route that cannot be probed and does not say why", async () => {
    const body = z.object({ body: z.string() });
    const noSample = await probeNotes((route) => route.post("/notes", { body }, () => undefined));
    expect(noSample).toMatchObject({ verdict: "failed", reason: expect.stringContaining("probe: { body") });
    const noTable = await probeNotes((route) => route.get("/notes/:slug", { params: { slug: z.string() } }, () => 1));
    expect(noTable).toMatchObject({ verdict: "failed", reason: expect.stringContaining(":slug is no id") });
    const skipped = await probeNotes((route) =>
      route.get("/notes/:slug", { params: { slug: z.string() }, probe: { skip: "public by design" } }, () => 1),
    );
    expect(skipped).toMatchObject({ verdict: "skipped", reason: "public by design" });
  });
});
