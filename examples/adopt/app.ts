import express, { type Express } from "express";
import { found, errorHandler, requestLog, type Rowhouse } from "rowhouse";
import { notes } from "../first-feature/notes.ts";

/** An Express application of your own: everything below rowhouse.tenant() runs as the request's tenant. */
export function createApp(rowhouse: Rowhouse): Express {
  const app = express();
  app.use(requestLog(rowhouse.log));
  app.get("/hello", (_request, response) => void response.send("no tenant needed"));

  app.use(rowhouse.tenant());
  app.use(express.json());
  app.post("/notes", async (request, response) => {
    const { title } = request.body as { title: string };
    const note = found(await rowhouse.db().insert(notes).values({ title }).returning());
    response.status(201).json(note); // held until COMMIT has answered
  });
  app.get("/notes", async (_request, response) => {
    response.json(await rowhouse.db().select().from(notes));
  });

  app.use(errorHandler());
  return app;
}
