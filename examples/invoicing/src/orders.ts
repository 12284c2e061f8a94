import { and, eq, sql } from "drizzle-orm";
import { created, defineFeature, found, idOf, noContent, pageQuery, paginate } from "rowhouse";
import { z } from "zod";
import { customers, orderItems, orders } from "./tables.ts";

// Within these bounds an order's total fits an integer.
const Item = z.object({
  description: z.string().min(1).max(500),
  quantity: z.int().min(1).max(1_000),
  unitCents: z.int().min(0).max(100_000),
});
const NewOrder = z.object({
  customerId: idOf(customers),
  note: z.string().max(2_000).optional(),
  items: z.array(Item).min(1).max(20),
});
const ORDER_ITEM = { description: "A wooden engine", quantity: 2, unitCents: 12_50 };

export const ordersFeature = defineFeature({
  name: "orders",
  tables: { orders, orderItems },
  routes(route) {
    const byId = { params: { id: idOf(orders) } };

    route.get(
      "/orders",
      {
        query: {
          ...pageQuery(),
          status: z.enum(orders.status.enumValues).optional(),
          customerId: idOf(customers).optional(),
        },
        scopes: ["read"],
      },
      async ({ db, query }) =>
        paginate(db, orders, {
          query,
          where: and(
            query.status ? eq(orders.status, query.status) : undefined,
            query.customerId ? eq(orders.customerId, query.customerId) : undefined,
          ),
        }),
    );

    route.post(
      "/orders",
      { body: NewOrder, scopes: ["write"], probe: { body: { items: [ORDER_ITEM] } } },
      async ({ db, body: { items, ...values } }) => {
        found(await db.select().from(customers).where(eq(customers.id, values.customerId)));
        const order = found(await db.insert(orders).values(values).returning());
        const lines = items.map((item) => ({ ...item, orderId: order.id }));
        return created(
          { ...order, items: await db.insert(orderItems).values(lines).returning() },
          `/orders/${order.id}`,
        );
      },
    );

    route.get("/orders/:id", { ...byId, scopes: ["read"] }, async ({ db, params }) => {
      const order = found(await db.select().from(orders).where(eq(orders.id, params.id)));
      return { ...order, items: await db.select().from(orderItems).where(eq(orderItems.orderId, order.id)) };
    });

    route.patch(
      "/orders/:id",
      {
        ...byId,
        body: z.object({ note: z.string().max(2_000) }),
        scopes: ["write"],
        probe: { body: { note: "soon" } },
      },
      async ({ db, params, body }) =>
        found(await db.update(orders).set(body).where(eq(orders.id, params.id)).returning()),
    );

    route.delete("/orders/:id", { ...byId, scopes: ["write"] }, async ({ db, params }) => {
      found(await db.delete(orders).where(eq(orders.id, params.id)).returning());
      return noContent();
    });

    route.get(
      "/reports/turnover",
      { scopes: ["read"], probe: { skip: "it takes no id: what it sums up is the caller's own by the wall alone" } },
      async ({ db }) =>
        db
          .select({
            customer: customers.name,
            orders: sql<number>`count(distinct ${orders.id})::int`,
            totalCents: sql`sum(${orderItems.quantity} * ${orderItems.unitCents})`.mapWith(Number),
          })
          .from(orderItems)
          .innerJoin(orders, eq(orders.id, orderItems.orderId))
          .innerJoin(customers, eq(customers.id, orders.customerId))
          .groupBy(customers.id, customers.name)
          .orderBy(customers.name),
    );
  },

  async seed(db) {
    const customer = found(await db.select().from(customers).limit(1));
    const order = found(await db.insert(orders).values({ customerId: customer.id }).returning());
    await db.insert(orderItems).values({ ...ORDER_ITEM, orderId: order.id });
  },
});
