import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  connectSql,
  createDedicatedTenant,
  createRowhouse,
  migrate,
  type Placement,
  signToken,
  type Rowhouse,
} from "rowhouse";
import request from "supertest";
import { createTestDatabase, templateMigrations, type TestDatabase } from "../../../test/helpers/database.ts";
import { features, migrations, resolvers } from "../src/app.ts";

const tokens = { secret: "a secret of the tests, 32 bytes long at least", issuer: "test", audience: "test" };

let server: TestDatabase;
let rowhouse: Rowhouse;
let acme: string;
let globex: string;

async function createTenant(slug: string, placement: Placement): Promise<string> {
  if (placement === "shared") return (await server.createTenant({ slug })).id;
  await using owner = await connectSql(server.ownerUrl, "test");
  const { provisionerUrl: adminUrl, ownerUrl, rolePrefix } = server;
  const options = { adminUrl, ownerUrl, rolePrefix, folders: [templateMigrations, ...migrations] };
  return (await createDedicatedTenant(owner, { slug }, options)).id;
}

async function newTenant(slug: string, placement: Placement): Promise<string> {
  const id = await createTenant(slug, placement);
  await rowhouse.withTenant(id, async (db) => {
    for (const feature of features) await feature.seed?.(db);
  });
  return signToken({ ...tokens, subject: `user of ${slug}`, tenantId: id, scopes: ["read", "write"], expiresIn: 600 });
}

const as = (token: string) => request.agent(rowhouse.app).auth(token, { type: "bearer" });

// The same code, wherever the two tenants' rows live.
describe.each([
  ["shared", "shared"],
  ["schema", "schema"],
  ["schema", "shared"],
] as const)("with acme in placement %s and globex in placement %s", (acmeIn, globexIn) => {
  beforeAll(async () => {
    server = await createTestDatabase();
    await migrate({ ownerUrl: server.ownerUrl, rolePrefix: server.rolePrefix, folders: migrations });
    rowhouse = await createRowhouse({
      url: server.appUrl,
      features,
      migrations,
      resolvers: resolvers(tokens),
      log: "silent",
    });
    acme = await newTenant("acme", acmeIn);
    globex = await newTenant("globex", globexIn);
  });

  afterAll(async () => {
    await rowhouse.close();
    await server.drop();
  });

  it("takes an order from customer to payment", async () => {
    const customer = await as(acme)
      .post("/customers")
      .send({ name: "Grace Hopper", email: "grace@example.com" })
      .expect(201);
    const items = [
      { description: "Compiler", quantity: 2, unitCents: 1000 },
      { description: "Manual", quantity: 1, unitCents: 500 },
    ];
    const order = await as(acme).post("/orders").send({ customerId: customer.body.id, items }).expect(201);
    expect(order.headers["location"]).toBe(`/orders/${order.body.id}`);
    expect(order.body.items).toHaveLength(2);

    const invoice = await as(acme).post("/invoices").send({ orderId: order.body.id, dueOn: "2030-06-30" }).expect(201);
    expect(invoice.body).toMatchObject({ totalCents: 2500, dueOn: "2030-06-30" });
    await as(acme).post(`/invoices/${invoice.body.id}/payments`).send({ amountCents: 2000 }).expect(201);
    const tooMuch = await as(acme).post(`/invoices/${invoice.body.id}/payments`).send({ amountCents: 501 }).expect(409);
    expect(tooMuch.body.openCents).toBe(500);
    const read = await as(acme).get(`/invoices/${invoice.body.id}`).expect(200);
    expect(read.body.payments).toHaveLength(1);
    await as(acme).delete(`/orders/${order.body.id}`).expect(409);
  });

  it("shows a tenant its own customers only", async () => {
    const mine = await as(acme).get("/customers").expect(200);
    const theirs = await as(globex).get("/customers").expect(200);
    const names = (body: { items: { name: string }[] }) => body.items.map((item) => item.name);
    expect(names(theirs.body)).toEqual(["Charles Babbage", "Ada Lovelace"]);
    expect(names(mine.body)).toContain("Ada Lovelace");
    const [first] = theirs.body.items;
    await as(acme).get(`/customers/${first.id}`).expect(404);
    await as(acme).patch(`/customers/${first.id}`).send({ name: "Taken" }).expect(404);
    await as(acme).delete(`/customers/${first.id}`).expect(404);
    await as(acme)
      .post("/orders")
      .send({ customerId: first.id, items: [{ description: "x", quantity: 1, unitCents: 1 }] })
      .expect(404);
    const still = await as(globex).get(`/customers/${first.id}`).expect(200);
    expect(still.body.name).toBe("Charles Babbage");
  });

  it("takes the same e-mail address once in each tenant", async () => {
    const customer = { name: "Twin", email: "twin@example.com" };
    await as(acme).post("/customers").send(customer).expect(201);
    await as(globex).post("/customers").send(customer).expect(201);
    const again = await as(acme).post("/customers").send(customer).expect(409);
    expect(again.body).toMatchObject({ code: "ERR_UNIQUE_VIOLATION", status: 409 });
  });

  it("walks through a list page by page", async () => {
    const names: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const page = await as(globex).get(`/customers?limit=1${query}`).expect(200);
      names.push(...page.body.items.map((item: { name: string }) => item.name));
      cursor = page.body.next;
    } while (cursor !== null);
    expect(names).toEqual(["Twin", "Charles Babbage", "Ada Lovelace"]);
    await as(globex).get("/customers?cursor=nonsense").expect(400);
    const changed = Buffer.from(JSON.stringify(["no date", "00000000-0000-7000-8000-000000000000"])).toString(
      "base64url",
    );
    await as(globex).get(`/invoices?cursor=${changed}`).expect(400);
    const found = await as(globex).get("/customers?search=love").expect(200);
    expect(found.body.items).toHaveLength(1);
  });

  it("sums up the tenant's own turnover", async () => {
    const report = await as(globex).get("/reports/turnover").expect(200);
    expect(report.body).toEqual([{ customer: "Ada Lovelace", orders: 2, totalCents: 4500 }]);
  });

  it("says what is wrong with a request, and loses nothing", async () => {
    const refused = await as(acme).post("/orders").send({ customerId: "not an id", items: [] }).expect(400);
    expect(refused.headers["content-type"]).toContain("application/problem+json");
    expect(refused.body.errors.map((error: { path: string }) => error.path)).toEqual(["body.customerId", "body.items"]);
    await as(acme).patch("/customers/00000000-0000-7000-8000-000000000000").send({}).expect(400);
    await request(rowhouse.app).get("/customers").expect(401);
    const readOnly = await signToken({
      ...tokens,
      subject: "x",
      tenantId: (await server.asOwner<{ id: string }>("select id from rowhouse.tenants where slug = 'acme'")).rows[0]!
        .id,
      scopes: ["read"],
      expiresIn: 60,
    });
    await as(readOnly).post("/customers").send({ name: "No", email: "no@example.com" }).expect(403);
  });

  it("does a repeated POST once", async () => {
    const customer = { name: "Once", email: "once@example.com" };
    const first = await as(acme).post("/customers").set("Idempotency-Key", "key-1").send(customer).expect(201);
    const again = await as(acme).post("/customers").set("Idempotency-Key", "key-1").send(customer).expect(201);
    expect(again.body).toEqual(first.body);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    await as(acme)
      .post("/customers")
      .set("Idempotency-Key", "key-1")
      .send({ ...customer, name: "Other" })
      .expect(422);
  });

  it("is ready once its migrations are applied", async () => {
    await request(rowhouse.app).get("/livez").expect(200);
    await request(rowhouse.app).get("/readyz").expect(200);
    const document = await request(rowhouse.app).get("/openapi.json").expect(200);
    expect(Object.keys(document.body.paths)).toContain("/customers/{id}");
  });
});
