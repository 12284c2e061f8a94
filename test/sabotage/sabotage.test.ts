import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectSql } from "../../src/database/sql-connection.ts";
import { runDoctor } from "../../src/doctor/doctor.ts";
import { zeroCount } from "../../src/doctor/zero-count.ts";
import { createShop, type Shop, type ShopDatabase } from "../doctor/shop.ts";
import { crossTenantBreaches } from "./cross-tenant.ts";

/** What caught it: the doctor's rules, the tables that zero-count did not pass, what one tenant could do to another. */
interface Catch {
  readonly doctor: string[];
  readonly "zero-count": string[];
  readonly "cross-tenant": string[];
}

interface Sabotage {
  readonly sql: string;
  /** Roles belong to the server, so what was done to them is undone. */
  readonly undo: string;
  readonly expected: Catch;
}

const CATCHERS = ["doctor", "zero-count", "cross-tenant"] as const;

/** A file's comments say what it breaks and, a line each, what catches it: `-- doctor: …`, `-- zero-count: …`. */
function readSabotage(file: string): Sabotage {
  const text = readFileSync(path.join(import.meta.dirname, file), "utf8");
  const [sql = "", undo = ""] = text.split("\n-- undo\n");
  const caughtBy = (catcher: string) =>
    [...text.matchAll(new RegExp(`^-- ${catcher}: (.*)$`, "gm"))].map((match) => match[1]!);
  return {
    sql,
    undo,
    expected: {
      doctor: caughtBy("doctor").flatMap((rules) => rules.split(", ")),
      "zero-count": caughtBy("zero-count").flatMap((tables) => tables.split(", ")),
      "cross-tenant": caughtBy("cross-tenant"),
    },
  };
}

const files = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".sql"))
  .sort();

let shop: Shop;
/** Tables of which zero-count has nothing to say in the sound database either. */
let unprovenBefore: string[];

beforeAll(async () => {
  shop = await createShop();
  await using sound = await shop.clone();
  unprovenBefore = await countZero(sound, []);
});

afterAll(async () => {
  await shop[Symbol.asyncDispose]();
});

/** The tables that zero-count does not pass, but for those `excepted`. */
async function countZero({ appUrl, owner, rolePrefix }: ShopDatabase, excepted: string[]): Promise<string[]> {
  // A connection of its own: the settings of a role are read when it connects.
  await using app = await connectSql(appUrl, "test sabotage");
  const { tables } = await zeroCount({ app, owner, rolePrefix });
  return tables
    .filter(({ verdict, table }) => verdict === "failed" || (verdict === "unproven" && !excepted.includes(table)))
    .map(({ table }) => table);
}

async function examine(database: ShopDatabase): Promise<Catch> {
  const findings = await runDoctor(database.owner, { rolePrefix: database.rolePrefix });
  const rules = findings.map((finding) => finding.rule).filter((rule) => rule !== "0032_server_version");
  return {
    doctor: [...new Set(rules)].sort(),
    "zero-count": await countZero(database, unprovenBefore),
    "cross-tenant": await crossTenantBreaches(database),
  };
}

describe("sabotage", () => {
  it("is not seen where there is none", async () => {
    await using sound = await shop.clone();
    expect(await examine(sound)).toEqual({ doctor: [], "zero-count": [], "cross-tenant": [] });
  });

  it("comes in kinds enough", () => {
    expect(files.length).toBeGreaterThanOrEqual(20);
  });

  it.each(files)("%s is caught", async (file) => {
    const { sql, undo, expected } = readSabotage(file);
    await using database = await shop.clone();
    try {
      await database.admin.query(database.sql(`set role rowhouse_owner; ${sql}; reset role`));
      const caught = await examine(database);
      if (process.env["SHOW"]) console.log(JSON.stringify({ file, ...caught }));
      expect(caught).toEqual(expected);
      expect(CATCHERS.some((catcher) => caught[catcher].length > 0)).toBe(true);
    } finally {
      await database.admin.query(database.sql(`reset role; ${undo}`));
    }
  });
});
