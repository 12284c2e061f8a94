import { drizzle } from "drizzle-orm/node-postgres";
import { expect, it } from "vitest";
import { conflictTarget } from "../../src/tables/conflict-target.ts";
import { customers, orders, plans } from "./fixtures/shop.ts";
import { refusal } from "./fixtures/refusal.ts";

const names = (columns: readonly { name: string }[]) => columns.map((column) => column.name);

it("puts tenant_id in front of the declared columns", () => {
  expect(names(conflictTarget(customers.email))).toEqual(["tenant_id", "email"]);
  expect(names(conflictTarget(customers.firstName, customers.lastName))).toEqual([
    "tenant_id",
    "first_name",
    "last_name",
  ]);
});

it("is what Drizzle's upsert takes", () => {
  const db = drizzle.mock();
  const { sql } = db
    .insert(customers)
    .values({ email: "a@b", firstName: "A", lastName: "B" })
    .onConflictDoUpdate({ target: conflictTarget(customers.email), set: { lastName: "C" } })
    .toSQL();
  expect(sql).toContain('on conflict ("tenant_id","email") do update set "last_name" = $');
});

it("cannot mix two tables", () => {
  expect(refusal(() => conflictTarget(customers.email, orders.id))).toEqual({
    code: "ERR_DEFINITION_INVALID",
    message:
      'conflictTarget() got columns of two tables, "customers" and "orders". Give those of one unique constraint.',
  });
});

it("cannot be used for a global table", () => {
  expect(refusal(() => conflictTarget(plans.code))).toEqual({
    code: "ERR_DEFINITION_INVALID",
    message: 'conflictTarget() is for tenant tables, and "plans" is none. Give Drizzle its columns as they are.',
  });
});
