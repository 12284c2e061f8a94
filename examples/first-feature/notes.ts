import { eq } from "drizzle-orm";
import { text } from "drizzle-orm/pg-core";
import { created, defineFeature, found, idOf, pageQuery, paginate, tenantTable } from "rowhouse";
import { z } from "zod";

export const notes = tenantTable("notes", {
  title: text().notNull().unique(), // unique within the tenant
  body: text().notNull().default(""),
});

const NewNote = z.object({ title: z.string().min(1).max(200), body: z.string().optional() });

export const notesFeature = defineFeature({
  name: "notes",
  tables: { notes },
  routes(route) {
    route.get("/notes", { query: pageQuery() }, async ({ db, query }) => paginate(db, notes, { query }));

    route.post("/notes", { body: NewNote, scopes: ["write"] }, async ({ db, body }) =>
      created(found(await db.insert(notes).values(body).returning())),
    );

    route.get("/notes/:id", { params: { id: idOf(notes) } }, async ({ db, params }) =>
      found(await db.select().from(notes).where(eq(notes.id, params.id))),
    );
  },
});
