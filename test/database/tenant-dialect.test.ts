import {
  and,
  asc,
  between,
  count,
  desc,
  eq,
  exists,
  ilike,
  inArray,
  isNull,
  not,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import {
  alias,
  integer,
  jsonb,
  PgDialect,
  pgEnum,
  pgSchema,
  pgTable,
  pgView,
  QueryBuilder,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { PgInsertBuilder, PgUpdateBuilder } from "drizzle-orm/pg-core/query-builders";
import { PgDeleteBase } from "drizzle-orm/pg-core/query-builders/delete";
import { expect, test } from "vitest";
import { TenantDialect } from "../../src/database/tenant-dialect.ts";

// The dialect writes the usual pieces itself. Whatever it writes must be what Drizzle would have written.

const state = pgEnum("state", ["open", "paid"]);
const orders = pgTable("orders", {
  id: uuid().primaryKey(),
  customerId: uuid("customer_id"),
  state: state().notNull(),
  total: integer().notNull(),
  note: text('no"te'),
  tags: text().array(),
  data: jsonb(),
  at: timestamp({ withTimezone: true }).notNull().defaultNow(),
});
const customers = pgSchema("crm").table("customers", { id: uuid().primaryKey(), name: text().notNull() });
const paid = pgView("paid").as((query) => query.select().from(orders).where(eq(orders.state, "paid")));
const ID = "01997000-0000-7000-8000-000000000000";
const noSession = undefined as never;

type Build = (dialect: PgDialect) => { getSQL(): SQL };
const select = (dialect: PgDialect) => new QueryBuilder(dialect);
const insert = (dialect: PgDialect) => new PgInsertBuilder(orders, noSession, dialect);
const update = (dialect: PgDialect) => new PgUpdateBuilder(orders, noSession, dialect);
const remove = (dialect: PgDialect) => new PgDeleteBase(orders, noSession, dialect);
const joined = eq(orders.customerId, customers.id);
const buyer = alias(customers, "buyer");
const row = { id: ID, customerId: ID, state: "open" as const, total: 5 };

const STATEMENTS: Record<string, Build> = {
  "a table": (d) => select(d).select().from(orders),
  "a row by its id": (d) => select(d).select().from(orders).where(eq(orders.id, ID)),
  "a page": (d) => select(d).select().from(orders).orderBy(desc(orders.at), asc(orders.id)).limit(20).offset(40),
  "a table of a schema": (d) => select(d).select({ name: customers.name }).from(customers),
  joins: (d) => select(d).select().from(orders).leftJoin(customers, joined).innerJoin(buyer, eq(buyer.id, orders.id)),
  "an alias": (d) => select(d).select({ name: buyer.name }).from(buyer).where(ilike(buyer.name, "a%")),
  conditions: (d) =>
    select(d)
      .select()
      .from(orders)
      .where(and(or(eq(orders.total, 1), not(isNull(orders.note))), undefined, between(orders.total, 1, 5))),
  "a list": (d) =>
    select(d)
      .select()
      .from(orders)
      .where(inArray(orders.id, [ID, ID])),
  "an empty list": (d) => select(d).select().from(orders).where(inArray(orders.id, [])),
  dates: (d) =>
    select(d)
      .select()
      .from(orders)
      .where(eq(orders.at, new Date(0))),
  aggregates: (d) =>
    select(d)
      .select({ state: orders.state, n: count(), sum: sql<number>`sum(${orders.total})`.as("sum") })
      .from(orders)
      .groupBy(orders.state)
      .having(sql`count(*) > ${1}`),
  distinct: (d) => select(d).selectDistinctOn([orders.state], { id: orders.id }).from(orders),
  locks: (d) => select(d).select().from(orders).for("update", { skipLocked: true }),
  "a subquery": (d) => {
    const inner = select(d)
      .select({ id: orders.id, n: sql<number>`${orders.total} + ${1}`.as("n") })
      .from(orders)
      .as("i");
    return select(d).select({ n: inner.n }).from(inner).where(eq(inner.id, ID));
  },
  "a subquery in a condition": (d) =>
    select(d)
      .select()
      .from(customers)
      .where(
        exists(
          select(d)
            .select()
            .from(orders)
            .where(and(joined, eq(orders.total, 3))),
        ),
      ),
  "a common table expression": (d) => {
    const big = select(d)
      .$with("big")
      .as(select(d).select().from(orders).where(eq(orders.total, 9)));
    return select(d).with(big).select().from(big).where(eq(big.id, ID));
  },
  union: (d) =>
    select(d)
      .select({ id: orders.id })
      .from(orders)
      .union(select(d).select({ id: customers.id }).from(customers)),
  "a view": (d) => select(d).select().from(paid).where(eq(paid.total, 4)),
  "written SQL": () =>
    sql`select ${orders.id}, ${1}, ${"x"}, ${null}, ${sql.raw("now()")} from ${orders} where ${joined}`,
  "names and joined pieces": () => sql`${sql.identifier('a"b')} in (${sql.join([sql`${1}`, sql`${2}`], sql`, `)})`,
  "an array of values": () => sql`select ${[1, 2, 3]} and ${[]}`,
  "values written into the text": () => sql`select ${sql`${"it's"} || ${5}`.inlineParams()} || ${7}`,
  "a whole text with its values": () => sql`select ${"it's"}, ${orders.total}`.inlineParams(),
  placeholders: (d) =>
    select(d)
      .select()
      .from(orders)
      .where(and(eq(orders.at, sql.placeholder("at")), eq(orders.total, sql.placeholder("total"))))
      .limit(sql.placeholder("limit")),
  "a value with an encoder": () =>
    sql`select ${sql.param(new Date(5), orders.at)}, ${sql.param({ a: 1 }, orders.data)}`,
  "SQL in a value's place": (d) =>
    update(d)
      .set({ total: sql`${orders.total} + ${1}` })
      .where(eq(orders.total, sql`${3}`)),
  "an insert": (d) =>
    insert(d)
      .values([row, { ...row, tags: ["a", "b"], data: { b: [1] }, note: null }])
      .returning(),
  "an upsert": (d) =>
    insert(d)
      .values(row)
      .onConflictDoUpdate({
        target: orders.id,
        set: { total: sql`excluded.total`, note: "n" },
        setWhere: eq(orders.total, 1),
      })
      .returning({ id: orders.id }),
  "an insert from a select": (d) => insert(d).select(select(d).select().from(orders).where(eq(orders.total, 8))),
  "an update": (d) =>
    update(d)
      .set({ note: null, tags: [], at: new Date(9) })
      .where(eq(orders.id, ID))
      .returning(),
  "an update from another table": (d) => update(d).set({ note: "x" }).from(customers).where(joined),
  "a delete": (d) => remove(d).where(eq(orders.id, ID)).returning({ gone: orders.id }),
};

test.each(Object.entries(STATEMENTS))("writes %s as Drizzle does", (_name, build) => {
  const [ours, theirs] = [new TenantDialect(), new PgDialect()].map((dialect) =>
    dialect.sqlToQuery(build(dialect).getSQL()),
  );
  expect(theirs?.sql.length).toBeGreaterThan(10);
  expect({ sql: ours?.sql, params: ours?.params }).toEqual({ sql: theirs?.sql, params: theirs?.params });
});

test("writes a statement the second time as the first", () => {
  const dialect = new TenantDialect();
  const texts = [1, 2].map(() =>
    dialect.sqlToQuery(select(dialect).select().from(orders).leftJoin(customers, joined).getSQL()),
  );
  expect(texts[1]).toEqual(texts[0]);
});
