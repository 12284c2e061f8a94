import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tenantSchema } from "../../../src/database/role-names.ts";
import type { SqlConnection } from "../../../src/database/sql-connection.ts";
import { moveTenant } from "../../../src/lifecycle/move/move-tenant.ts";
import type { MoveDestination } from "../../../src/lifecycle/move/plan-move.ts";
import { findTenant } from "../../../src/lifecycle/tenants.ts";
import type { TestDatabase } from "../../helpers/database.ts";
import { bankMigrations, createBankDatabase } from "./bank.ts";
import { type Program, startMove, startTeller } from "./processes.ts";

/** Moves there and back; more of them by TEST_MOVE_ROUNDS, for a night. */
const ROUNDS = Number(process.env["TEST_MOVE_ROUNDS"] ?? 3);
const ACCOUNTS = 8;
const OPENING_BALANCE = 1_000;

let server: TestDatabase;
let owner: SqlConnection;

const optionsOf = (to: MoveDestination, id: string) => ({
  ...{ tenant: id, to, ownerUrl: server.ownerUrl, adminUrl: server.provisionerUrl, rolePrefix: server.rolePrefix },
  ...{ folders: bankMigrations, batchSize: 50 },
});

beforeAll(async () => {
  server = await createBankDatabase();
  owner = await server.connectAsOwner();
});

afterAll(async () => {
  await owner.end();
  await server.drop();
});

/** A tenant with accounts that hold the same. */
async function openBank(): Promise<string> {
  const { id } = await server.createTenant();
  await owner.query(
    "insert into public.accounts (tenant_id, name, balance) select $1, 'a' || n, $2 from generate_series(1, $3::integer) n",
    [id, OPENING_BALANCE, ACCOUNTS],
  );
  return id;
}

/** Accounts whose balance is not what their transfers have made of it, and the sum of all. */
async function audit(schema: string, tenantId: string) {
  const { rows } = await owner.query<{ sum: string; wrong: string }>(
    `select coalesce(sum(balance), 0)::text as sum,
       count(*) filter (where balance <> $2
         + (select coalesce(sum(amount), 0) from ${schema}.transfers t where t.tenant_id = a.tenant_id and t.to_id = a.id)
         - (select coalesce(sum(amount), 0) from ${schema}.transfers t where t.tenant_id = a.tenant_id and t.from_id = a.id))::text as wrong
     from ${schema}.accounts a where tenant_id = $1`,
    [tenantId, OPENING_BALANCE],
  );
  const transfers = await owner.query<{ id: string }>(`select id from ${schema}.transfers where tenant_id = $1`, [
    tenantId,
  ]);
  return {
    sum: Number(rows[0]!.sum),
    wrong: Number(rows[0]!.wrong),
    transfers: new Set(transfers.rows.map((row) => row.id)),
  };
}

const acknowledged = (tellers: readonly Program[]) =>
  tellers.flatMap(({ lines }) => lines.filter((line) => line.startsWith("ack ")).map((line) => line.slice(4)));

const complaints = (tellers: readonly Program[]) =>
  tellers.flatMap(({ lines }) => lines.filter((line) => !/^(ack .*|done)$/.test(line)));

async function close(tellers: readonly Program[]): Promise<void> {
  for (const { child } of tellers) {
    child.kill("SIGCONT");
    child.stdin!.end();
  }
  for (const teller of tellers) expect(await teller.ended, teller.errors()).toBe(0);
}

/** Stops tellers for moments, wherever they happen to be, until it is told to end. */
async function disturb(tellers: readonly Program[], isWanted: () => boolean): Promise<void> {
  while (isWanted()) {
    const { child } = tellers[Math.floor(Math.random() * tellers.length)]!;
    child.kill("SIGSTOP");
    await sleep(Math.random() * 250);
    child.kill("SIGCONT");
    await sleep(Math.random() * 100);
  }
}

/** Moves the tenant: some of the processes that do it are killed on the way, until one gets to its end. */
async function moveWithKills(to: MoveDestination, id: string): Promise<void> {
  for (let kills = Math.floor(Math.random() * 3); kills > 0; kills -= 1) {
    const victim = startMove(optionsOf(to, id));
    await victim.line((line) => line === "plan");
    await sleep(Math.random() * 300);
    victim.child.kill("SIGKILL");
    await victim.ended;
  }
  const last = startMove(optionsOf(to, id));
  expect(await last.ended, last.errors()).toBe(0);
}

describe("a ledger that is written to while its tenant moves", () => {
  it(
    "loses no acknowledged transfer, applies none twice, and leaves none in the wrong place",
    { timeout: 120_000 + ROUNDS * 60_000 },
    async () => {
      const [id, other] = [await openBank(), await openBank()];
      const tellers = [1, 2, 3].map(() => startTeller(server.appUrl, id));
      const others = [startTeller(server.appUrl, other)];
      await Promise.all([...tellers, ...others].map((teller) => teller.line((line) => line.startsWith("ack "))));

      let isMoving = true;
      const disturbed = disturb(tellers, () => isMoving);
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const to of ["schema", "shared"] as const) {
          const [own, foreign] = [acknowledged(tellers).length, acknowledged(others).length];
          await moveWithKills(to, id);
          expect(await findTenant(owner, id)).toMatchObject({ placement: to });
          // Both go on.
          const more = (programs: readonly Program[], than: number) =>
            until(() => acknowledged(programs).length > than);
          await Promise.all([more(tellers, own), more(others, foreign)]);
        }
      }
      await moveWithKills("schema", id);
      isMoving = false;
      await disturbed;
      await close([...tellers, ...others]);

      const schema = tenantSchema(id);
      const end = await audit(schema, id);
      expect(end).toMatchObject({ sum: ACCOUNTS * OPENING_BALANCE, wrong: 0 });
      const acks = acknowledged(tellers);
      expect(acks.filter((transfer) => !end.transfers.has(transfer))).toEqual([]);
      // Nothing was refused, so what is there is what was acknowledged.
      expect(complaints([...tellers, ...others])).toEqual([]);
      expect(end.transfers.size).toBe(acks.length);
      expect((await audit("public", id)).transfers.size).toBe(0);
      expect(await audit("public", other)).toMatchObject({ sum: ACCOUNTS * OPENING_BALANCE, wrong: 0 });
    },
  );

  it("is written in the new place by a process that stood still during the move", async () => {
    const id = await openBank();
    const teller = startTeller(server.appUrl, id, "step");
    const transfers = async (count: number) => {
      await until(() => acknowledged([teller]).length === count);
    };
    teller.child.stdin!.write("transfer\n");
    await transfers(1);
    for (const [to, count] of [
      ["schema", 2],
      ["shared", 3],
      ["schema", 4],
    ] as const) {
      // It knows where the tenant lives, and what it is to do next is on its input.
      teller.child.kill("SIGSTOP");
      teller.child.stdin!.write("transfer\n");
      await moveTenant(id, optionsOf(to, id));
      teller.child.kill("SIGCONT");
      await transfers(count);
      const [here, there] = to === "schema" ? [tenantSchema(id), "public"] : ["public", undefined];
      expect(await audit(here, id)).toMatchObject({ sum: ACCOUNTS * OPENING_BALANCE, wrong: 0 });
      expect((await audit(here, id)).transfers).toEqual(new Set(acknowledged([teller])));
      if (there) expect((await audit(there, id)).transfers.size).toBe(0);
    }
    await close([teller]);
    expect(complaints([teller])).toEqual([]);
  });
});

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3_000; tries += 1) {
    if (condition()) return;
    await sleep(10);
  }
  throw new Error("it never came about");
}
