import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ruleNames, ruleQuery, type RuleName } from "../../src/doctor/catalog.ts";
import type { Finding } from "../../src/doctor/doctor.ts";
import { sql } from "../../src/generated/sql.ts";
import { createShop, type Shop, type ShopDatabase } from "../doctor/shop.ts";
import { readStory, type Step } from "./story.ts";

let shop: Shop;
let database: ShopDatabase;

beforeAll(async () => {
  shop = await createShop();
  database = await shop.clone();
});

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
});

beforeEach(() => database.admin.query("begin"));
afterEach(() => database.admin.query("rollback"));

/** Runs a step as the owner, who writes migrations, unless its SQL says `reset role`. */
async function take(step: Step): Promise<void> {
  await database.admin.query(database.sql("set local role rowhouse_owner"));
  if (step.sql.trim() !== "") await database.admin.query(database.sql(step.sql));
}

async function findings(rule: RuleName, server: string | undefined): Promise<Finding[]> {
  await database.admin.query(database.sql("set local role rowhouse_owner; set local search_path = ''"));
  const { text, values } = ruleQuery(rule, { rolePrefix: database.rolePrefix });
  const version = "pg_catalog.current_setting('server_version_num')";
  const aged = server === undefined ? text : text.replace(version, `'${server}'`);
  const { rows } = await database.admin.query<Finding>(aged, values);
  return rows.sort((a, b) => (a.key < b.key ? -1 : 1));
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const pattern = (text: string) =>
  expect.stringMatching(new RegExp(`^${text.split("{{*}}").map(escape).join(".+")}$`)) as string;

describe.each(ruleNames)("rule %s", (rule) => {
  it("finds its fault, and nothing before the fault and after the fix", async () => {
    const { before, rounds } = readStory(rule);
    expect(await findings(rule, before.server)).toEqual([]);
    for (const { fault, findings: expected, fix } of rounds) {
      await take(fault);
      const found = await findings(rule, fault.server);
      expect(found.map(({ key, detail }) => ({ key, detail }))).toEqual(
        expected.map(({ key, detail }) => ({
          key: pattern(database.sql(key)),
          detail: pattern(database.sql(detail).replace("{{database}}", database.name)),
        })),
      );
      await take(fix);
      expect(await findings(rule, fix.server)).toEqual([]);
    }
    expect(rounds.length).toBeGreaterThan(0);
  });
});

it("all have one shape, so that their findings make one list", async () => {
  const columns = "rule, level, schema, object, detail, remediation, key";
  const union = ruleNames.map((rule) => `select ${columns} from (${sql[`policies/lints/${rule}.sql`]}) as r`);
  await database.admin.query(database.sql(`${sql["policies/catalog.sql"]}\n${union.join("\nunion all\n")}`), [
    ["public"],
  ]);
});

it("are excepted for the framework's own tables only where that is needed", async () => {
  const text = database.sql(sql["policies/catalog.sql"]);
  await database.admin.query("set local search_path = ''");
  const { rows } = await database.admin.query<{ key: string; reason: string }>(`${text} select * from exceptions`, [
    ["public"],
  ]);
  expect(rows.length).toBeGreaterThan(0);
  for (const { key, reason } of rows) {
    const rule = key.split(":")[0] as RuleName;
    const unfiltered = `${text} select r.key from (${database.sql(sql[`policies/lints/${rule}.sql`])}) as r where r.key = $2`;
    const found = await database.admin.query(unfiltered, [["public"], key]);
    expect(found.rows, `${key} is excepted (${reason}), but nothing finds it any more`).toHaveLength(1);
  }
});
