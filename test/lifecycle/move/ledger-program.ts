/**
 * A bank's teller, as a process that can be stopped and killed: transfers money between two of the tenant's accounts and
 * prints `ack <transfer>` once that is committed. It goes on by itself, or with "step" makes one transfer for each line of its input.
 */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { sql } from "drizzle-orm";
import { createDatabase } from "../../../src/database/database.ts";
import { RowhouseError } from "../../../src/errors.ts";
import { createTenantContext } from "../../../src/tenancy/context.ts";
import { createRegistry } from "../../../src/tenancy/registry.ts";
import { createWithTenant } from "../../../src/tenancy/with-tenant.ts";

const [url, tenantId, mode] = process.argv.slice(2) as [string, string, "run" | "step"];
const database = createDatabase({
  ...{ url, poolSize: 3, tenantLimit: 3, preparedStatements: true, applicationName: "teller" },
  onError: (error) => console.log(`background ${String(error)}`),
});
const withTenant = createWithTenant(database, createRegistry(database), createTenantContext());

async function transfer(): Promise<void> {
  const id = randomUUID();
  try {
    await withTenant(tenantId, async (db) => {
      // In the order of their ids: two tellers cannot wait for each other.
      const { rows } = await db.execute<{ id: string; balance: string }>(
        sql`select id, balance from accounts where id in (select id from accounts order by random() limit 2) order by id for update`,
      );
      const [from, to] = Math.random() < 0.5 ? rows : rows.toReversed();
      const amount = Math.min(Number(from!.balance), 1 + Math.floor(Math.random() * 20));
      await db.execute(sql`update accounts set balance = balance - ${amount} where id = ${from!.id}`);
      await db.execute(
        sql`insert into transfers (id, from_id, to_id, amount) values (${id}, ${from!.id}, ${to!.id}, ${amount})`,
      );
      await db.execute(sql`update accounts set balance = balance + ${amount} where id = ${to!.id}`);
    });
    console.log(`ack ${id}`);
  } catch (error) {
    console.log(`error ${error instanceof RowhouseError ? error.code : String(error)}`);
  }
}

let isWanted = true;
const input = createInterface(process.stdin);
input.on("close", () => (isWanted = false));
if (mode === "step") {
  for await (const _line of input) await transfer();
} else {
  await Promise.all(
    [1, 2].map(async () => {
      while (isWanted) await transfer();
    }),
  );
}
await database.close();
console.log("done");
