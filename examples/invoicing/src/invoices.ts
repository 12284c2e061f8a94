import { eq, sql } from "drizzle-orm";
import { created, defineFeature, found, idOf, json, pageQuery, paginate, type TenantDb } from "rowhouse";
import { z } from "zod";
import { invoices, orderItems, orders, payments } from "./tables.ts";

const NewInvoice = z.object({ orderId: idOf(orders), dueOn: z.iso.date() });
const NewPayment = z.object({ amountCents: z.int().min(1).max(1_000_000_000) });

/** Writes the invoice of an order: its items as they are now. */
async function writeInvoice(db: TenantDb, { orderId, dueOn }: z.output<typeof NewInvoice>) {
  found(await db.update(orders).set({ status: "invoiced" }).where(eq(orders.id, orderId)).returning());
  const { totalCents } = found(
    await db
      .select({ totalCents: sql<number>`coalesce(sum(${orderItems.quantity} * ${orderItems.unitCents}), 0)::int` })
      .from(orderItems)
      .where(eq(orderItems.orderId, orderId)),
  );
  return found(await db.insert(invoices).values({ orderId, dueOn, totalCents }).returning());
}

export const invoicesFeature = defineFeature({
  name: "invoices",
  tables: { invoices, payments },
  routes(route) {
    const byId = { params: { id: idOf(invoices) } };

    route.get("/invoices", { query: pageQuery(), scopes: ["read"] }, async ({ db, query }) =>
      paginate(db, invoices, { query, by: invoices.dueOn, direction: "asc" }),
    );

    route.post(
      "/invoices",
      { body: NewInvoice, scopes: ["write"], probe: { body: { dueOn: "2030-01-31" } } },
      async ({ db, body }) => {
        const invoice = await writeInvoice(db, body);
        return created(invoice, `/invoices/${invoice.id}`);
      },
    );

    route.get("/invoices/:id", { ...byId, scopes: ["read"] }, async ({ db, params }) => {
      const invoice = found(await db.select().from(invoices).where(eq(invoices.id, params.id)));
      return { ...invoice, payments: await db.select().from(payments).where(eq(payments.invoiceId, invoice.id)) };
    });

    route.post(
      "/invoices/:id/payments",
      { ...byId, body: NewPayment, scopes: ["write"], probe: { body: { amountCents: 100 } } },
      async ({ db, params, body }) => {
        // The row is locked, so that two payments at once cannot both be the last one.
        const invoice = found(await db.select().from(invoices).where(eq(invoices.id, params.id)).for("update"));
        const { paidCents } = found(
          await db
            .select({ paidCents: sql<number>`coalesce(sum(${payments.amountCents}), 0)::int` })
            .from(payments)
            .where(eq(payments.invoiceId, invoice.id)),
        );
        const openCents = invoice.totalCents - paidCents;
        if (body.amountCents > openCents) return json({ openCents, message: "More than is open." }, { status: 409 });
        return created(
          found(
            await db
              .insert(payments)
              .values({ ...body, invoiceId: invoice.id })
              .returning(),
          ),
        );
      },
    );
  },

  async seed(db) {
    const order = found(
      await db
        .insert(orders)
        .values({ customerId: found(await db.select().from(orders).limit(1)).customerId })
        .returning(),
    );
    await db
      .insert(orderItems)
      .values({ orderId: order.id, description: "Punched cards", quantity: 4, unitCents: 5_00 });
    const invoice = await writeInvoice(db, { orderId: order.id, dueOn: "2030-01-31" });
    await db.insert(payments).values({ invoiceId: invoice.id, amountCents: 10_00 });
  },
});
