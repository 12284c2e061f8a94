import { once } from "node:events";
import { type AddressInfo, connect as dial, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createDatabase } from "../../src/database/database.ts";
import type { Database, TenantRef } from "../../src/database/types.ts";
import { notes } from "../fixtures/tables.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

// A network that swallows everything: the socket stays open and nothing comes.

let server: TestDatabase;
let network: Server;
let database: Database;
let tenant: TenantRef;
const downstream = new Set<Socket>();

beforeAll(async () => {
  server = await createTestDatabase();
  const url = new URL(server.appUrl);
  const [host, port] = [url.hostname, Number(url.port || 5432)];
  network = createServer((socket) => {
    const upstream = dial(port, host);
    socket.pipe(upstream).pipe(socket);
    downstream.add(upstream);
    socket.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    upstream.on("error", () => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(network, "listening");
  url.hostname = "127.0.0.1";
  url.port = String((network.address() as AddressInfo).port);
  database = createDatabase({
    url: url.href,
    poolSize: 1,
    tenantLimit: 1,
    preparedStatements: true,
    applicationName: "test",
    onError: () => {},
    silenceTimeout: 300,
  });
  tenant = { id: (await server.createTenant({ slug: "silence" })).id, placement: "shared", epoch: 1 };
});

afterAll(async () => {
  await database.close();
  network.close();
});

it("gives up a server that has stopped to answer, and connects anew for the next transaction", async () => {
  const first = database.open(tenant);
  await first.db.insert(notes).values({ body: "never stored" });
  for (const socket of downstream) socket.unpipe().pause();
  await expect(first.db.select().from(notes)).rejects.toMatchObject({ code: "ERR_CONNECTION_LOST" });
  await expect(first.commit()).rejects.toMatchObject({ code: "ERR_CONNECTION_LOST" });
  const next = database.open(tenant);
  expect(await next.db.select().from(notes)).toEqual([]);
  await next.commit();
});

it("keeps a connection that nobody waits on", async () => {
  const before = downstream.size;
  for (let round = 0; round < 2; round++) {
    const transaction = database.open(tenant);
    expect(await transaction.db.select().from(notes)).toEqual([]);
    await transaction.commit();
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  expect(downstream.size).toBe(before);
});
