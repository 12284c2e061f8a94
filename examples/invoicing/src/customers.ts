import { eq, ilike } from "drizzle-orm";
import { created, defineFeature, found, idOf, noContent, pageQuery, paginate } from "rowhouse";
import { z } from "zod";
import { customers } from "./tables.ts";

const NewCustomer = z.object({ name: z.string().min(1).max(200), email: z.email() });
const CustomerChange = NewCustomer.partial().refine(
  (change) => Object.keys(change).length > 0,
  "must change something",
);

export const customersFeature = defineFeature({
  name: "customers",
  tables: { customers },
  routes(route) {
    const byId = { params: { id: idOf(customers) } };

    route.get(
      "/customers",
      { query: { ...pageQuery(), search: z.string().max(100).optional() }, scopes: ["read"] },
      async ({ db, query }) =>
        paginate(db, customers, {
          query,
          where: query.search === undefined ? undefined : ilike(customers.name, `%${query.search}%`),
        }),
    );

    route.post(
      "/customers",
      { body: NewCustomer, scopes: ["write"], probe: { body: { name: "Probe", email: "probe@example.com" } } },
      async ({ db, body }) => {
        const customer = found(await db.insert(customers).values(body).returning());
        return created(customer, `/customers/${customer.id}`);
      },
    );

    route.get("/customers/:id", { ...byId, scopes: ["read"] }, async ({ db, params }) =>
      found(await db.select().from(customers).where(eq(customers.id, params.id))),
    );

    route.patch(
      "/customers/:id",
      { ...byId, body: CustomerChange, scopes: ["write"], probe: { body: { name: "Renamed" } } },
      async ({ db, params, body }) =>
        found(await db.update(customers).set(body).where(eq(customers.id, params.id)).returning()),
    );

    route.delete("/customers/:id", { ...byId, scopes: ["write"] }, async ({ db, params }) => {
      found(await db.delete(customers).where(eq(customers.id, params.id)).returning());
      return noContent();
    });
  },

  async seed(db) {
    await db.insert(customers).values([
      { name: "Ada Lovelace", email: "ada@example.com" },
      { name: "Charles Babbage", email: "charles@example.com" },
    ]);
  },
});
