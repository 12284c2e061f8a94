import { eq } from "drizzle-orm";
import { defineFeature, defineJob, found, idOf } from "rowhouse";
import { z } from "zod";
import { notes } from "../first-feature/notes.ts";

const summarise = defineJob("notes.summarise", {
  payload: z.object({ noteId: z.uuid(), requestedAt: z.date() }),
  retry: { attempts: 5 },
  timeout: 30_000,
  async run({ db, payload, log }) {
    const note = found(await db.select().from(notes).where(eq(notes.id, payload.noteId)));
    await db
      .update(notes)
      .set({ body: `${note.body.slice(0, 20)}…` })
      .where(eq(notes.id, note.id));
    log.info({ note: note.id }, "summarised");
  },
});

export const summariesFeature = defineFeature({
  name: "summaries",
  jobs: [summarise],
  routes(route) {
    route.post("/notes/:id/summary", { params: { id: idOf(notes) } }, async ({ db, params }) => {
      const note = found(await db.select().from(notes).where(eq(notes.id, params.id)));
      // Born in this transaction: no commit, no job.
      const payload = { noteId: note.id, requestedAt: new Date() };
      return summarise.enqueue(db, payload, { uniqueKey: note.id, delay: 100 });
    });
  },
});
