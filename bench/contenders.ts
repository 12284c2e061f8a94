import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { and, desc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgSchema, text, timestamp, uuid } from "drizzle-orm/pg-core";
import express, { type Express, type Request } from "express";
import pg from "pg";
import { z } from "zod";
import { created, createRowhouse, defineFeature, found, idOf, tenantTable } from "../dist/index.js";

/** Connections to PostgreSQL, for each contender. */
const POOL = 10;
const LIST = 20;

/** Every contender is told the tenant by a header: what is compared is the transaction, not the verification of tokens. */
const TENANT_HEADER = "x-bench-tenant";

const tenantOf = (request: Request) => z.uuid().parse(request.headers[TENANT_HEADER]);
const NewNote = z.object({ body: z.string().min(1).max(1000) });

/** The same three routes for those that bring their own queries. */
interface Queries {
  get(tenant: string, id: string): Promise<unknown>;
  list(tenant: string): Promise<unknown[]>;
  add(tenant: string, body: string): Promise<unknown>;
}

function expressApp(queries: Queries): Express {
  const app = express();
  app.use(express.json());
  app.get("/notes/:id", async (request, response) => {
    const row = await queries.get(tenantOf(request), z.uuid().parse(request.params["id"]));
    if (row) response.json(row);
    else response.status(404).json({ error: "not found" });
  });
  app.get("/notes", async (request, response) => void response.json(await queries.list(tenantOf(request))));
  app.post("/notes", async (request, response) => {
    const { body } = NewNote.parse(request.body);
    response.status(201).json(await queries.add(tenantOf(request), body));
  });
  return app;
}

const notesIn = (schema: string) =>
  pgSchema(schema).table("notes", {
    tenantId: uuid("tenant_id").notNull(),
    id: uuid("id")
      .notNull()
      .default(sql`rowhouse.uuid_v7()`),
    body: text("body").notNull(),
    createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  });

/** Drizzle with a hand-written tenant filter: no row-level security, no transaction. */
function drizzleContender(ownerUrl: string): Express {
  const db = drizzle(new pg.Pool({ connectionString: ownerUrl, max: POOL }));
  const notes = notesIn("plain");
  return expressApp({
    get: async (tenant, id) =>
      (
        await db
          .select()
          .from(notes)
          .where(and(eq(notes.tenantId, tenant), eq(notes.id, id)))
      )[0],
    list: (tenant) => db.select().from(notes).where(eq(notes.tenantId, tenant)).orderBy(desc(notes.id)).limit(LIST),
    add: async (tenantId, body) => (await db.insert(notes).values({ tenantId, body }).returning())[0],
  });
}

/** Bare pg with named statements and a hand-written tenant filter. */
function pgContender(ownerUrl: string): Express {
  const pool = new pg.Pool({ connectionString: ownerUrl, max: POOL });
  const columns = 'tenant_id as "tenantId", id, body, created_at as "createdAt"';
  const query = async (name: string, text: string, values: unknown[]) =>
    (await pool.query<Record<string, unknown>>({ name, text, values })).rows;
  return expressApp({
    get: async (tenant, id) =>
      (await query("get", `select ${columns} from plain.notes where tenant_id = $1 and id = $2`, [tenant, id]))[0],
    list: (tenant) =>
      query("list", `select ${columns} from plain.notes where tenant_id = $1 order by id desc limit ${LIST}`, [tenant]),
    add: async (tenant, body) =>
      (
        await query("add", `insert into plain.notes (tenant_id, body) values ($1, $2) returning ${columns}`, [
          tenant,
          body,
        ])
      )[0],
  });
}

/** What tutorials show: row-level security, and a Drizzle transaction that sets the tenant first. */
function tutorialContender(appUrl: string): Express {
  const db = drizzle(new pg.Pool({ connectionString: appUrl, max: POOL }));
  const notes = notesIn("tutorial");
  type Transaction = Parameters<Parameters<typeof db.transaction>[0]>[0];
  const asTenant = <Result>(tenant: string, work: (tx: Transaction) => Promise<Result>) =>
    db.transaction(async (tx) => {
      await tx.execute(sql`select set_config('app.tenant_id', ${tenant}, true)`);
      return work(tx);
    });
  return expressApp({
    get: (tenant, id) => asTenant(tenant, async (tx) => (await tx.select().from(notes).where(eq(notes.id, id)))[0]),
    list: (tenant) => asTenant(tenant, (tx) => tx.select().from(notes).orderBy(desc(notes.id)).limit(LIST)),
    add: (tenantId, body) =>
      asTenant(tenantId, async (tx) => (await tx.insert(notes).values({ tenantId, body }).returning())[0]),
  });
}

/** Rowhouse as a product team uses it: the whole application, with request ids, log lines, headers and problem details. */
async function serveRowhouse(appUrl: string): Promise<number> {
  const notes = tenantTable("notes", {
    body: text().notNull(),
    createdAt: timestamp({ withTimezone: true }).notNull().defaultNow(),
  });
  const feature = defineFeature({
    name: "notes",
    tables: { notes },
    routes(route) {
      route.get("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params }) =>
        found(await db.select().from(notes).where(eq(notes.id, params.id))),
      );
      route.get("/notes", {}, async ({ db }) => db.select().from(notes).orderBy(desc(notes.id)).limit(LIST));
      route.post("/notes", { body: NewNote }, async ({ db, body }) =>
        created(found(await db.insert(notes).values(body).returning())),
      );
    },
  });
  const header = {
    name: "header",
    resolve: ({ headers }: { headers: Record<string, string | string[] | undefined> }) =>
      Promise.resolve({ tenant: { by: "id", id: String(headers[TENANT_HEADER]) } } as const),
  };
  const rowhouse = await createRowhouse({
    url: appUrl,
    features: [feature],
    resolvers: [header],
    poolSize: POOL,
    tenantLimit: POOL,
    log: "silent",
  });
  return (await rowhouse.listen({ port: 0, host: "127.0.0.1" })).port;
}

export const CONTENDERS = ["rowhouse", "tutorial", "drizzle", "pg"] as const;
export type Contender = (typeof CONTENDERS)[number];

interface Urls {
  readonly appUrl: string;
  readonly ownerUrl: string;
}

function makeContender(name: Exclude<Contender, "rowhouse">, urls: Urls): Express {
  switch (name) {
    case "tutorial":
      return tutorialContender(urls.appUrl);
    case "drizzle":
      return drizzleContender(urls.ownerUrl);
    case "pg":
      return pgContender(urls.ownerUrl);
  }
}

/** Serves one contender, each in the way its users do. @returns the port */
export async function serve(name: Contender, urls: Urls): Promise<number> {
  if (name === "rowhouse") return serveRowhouse(urls.appUrl);
  const server = makeContender(name, urls).listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
