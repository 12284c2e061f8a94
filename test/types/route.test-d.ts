import { z } from "zod";
import { defineFeature, idOf, tenantTable, type TenantDb } from "../../src/index.ts";
import { integer, text } from "drizzle-orm/pg-core";

type Equals<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const check = <_Holds extends true>(): void => {};

const notes = tenantTable("notes", { body: text().notNull(), stars: integer() });

defineFeature({
  name: "types",
  tables: { notes },
  routes(route) {
    route.post(
      "/notes/:id",
      {
        params: { id: idOf(notes) },
        query: { limit: z.coerce.number().default(20), tag: z.string().optional() },
        body: z.object({ at: z.iso.date().transform((text) => new Date(text)) }),
      },
      async ({ db, params, query, body }) => {
        // Regression: what zod puts out, not what it takes in.
        check<Equals<typeof params, { id: string }>>();
        check<Equals<typeof query, { limit: number; tag?: string | undefined }>>();
        check<Equals<typeof body, { at: Date }>>();
        check<Equals<typeof db, TenantDb>>();
        const [row] = await db.select().from(notes);
        check<Equals<typeof row, { tenantId: string; id: string; body: string; stars: number | null } | undefined>>();
      },
    );

    route.get("/plain", {}, ({ params, body }) => {
      check<Equals<typeof params, Record<string, never>>>();
      check<Equals<typeof body, undefined>>();
    });

    // Regression: a route that holds no transaction must not offer one.
    route.get("/none", { transaction: "none" }, async (input) => {
      // @ts-expect-error there is no db outside a transaction
      void input.db;
      // @ts-expect-error and no COMMIT to wait for
      void input.afterCommit;
      const count = await input.transaction(async (db) => db.$count(notes));
      check<Equals<typeof count, number>>();
    });

    route.get("/one", {}, (input) => {
      // @ts-expect-error the request's own transaction is the one to use
      void input.transaction;
    });

    // @ts-expect-error there is no such transaction mode
    route.get("/mode", { transaction: "serializable" }, () => 1);
  },
});
