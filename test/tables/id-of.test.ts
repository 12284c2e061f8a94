import { describe, expect, it } from "vitest";
import { z } from "zod";
import { findIds, idOf, tableOfId } from "../../src/tables/id-of.ts";
import type { AnyTenantTable } from "../../src/tables/table-kind.ts";
import { customers, orders, plans } from "./fixtures/shop.ts";
import { refusal } from "./fixtures/refusal.ts";

const V7 = "0193a5b0-7c1e-7b5a-9d3f-3f1a2b4c5d6e";

describe("idOf", () => {
  it.each([V7, V7.toUpperCase(), "00000000-0000-0000-0000-000000000001"])("accepts the UUID %s", (id) => {
    expect(idOf(orders).parse(id)).toBe(id);
  });

  it.each(["", "1", `${V7}0`, `{${V7}}`, V7.replaceAll("-", ""), 7, null])("refuses %j", (id) => {
    expect(
      idOf(orders)
        .safeParse(id)
        .error?.issues.map((issue) => issue.message),
    ).toEqual(["must be a UUID"]);
  });

  it("shows in JSON Schema as a UUID and nothing else", () => {
    expect(z.toJSONSchema(idOf(orders))).toMatchObject({ type: "string", format: "uuid" });
    expect(JSON.stringify(z.toJSONSchema(idOf(orders)))).not.toContain("orders");
  });

  it("cannot be made for a global table", () => {
    expect(refusal(() => idOf(plans as unknown as AnyTenantTable))).toEqual({
      code: "ERR_DEFINITION_INVALID",
      message: 'idOf() is for tenant tables, and "plans" is none. Use z.uuid(), or what its key is.',
    });
  });
});

describe("tableOfId", () => {
  it("knows the table of a plain id, and of no other schema", () => {
    expect(tableOfId(idOf(orders))).toBe(orders);
    expect(tableOfId(z.guid())).toBeUndefined();
    expect(tableOfId(z.object({ id: idOf(orders) }))).toBeUndefined();
    expect(tableOfId(z.array(idOf(orders)))).toBeUndefined();
  });

  it.each<[string, (id: z.ZodGUID) => z.ZodType]>([
    ["optional", (id) => id.optional()],
    ["nullable", (id) => id.nullable()],
    ["nullish", (id) => id.nullish()],
    ["nonoptional", (id) => id.optional().nonoptional()],
    ["default", (id) => id.default(V7)],
    ["prefault", (id) => id.prefault(V7)],
    ["catch", (id) => id.catch(V7)],
    ["readonly", (id) => id.readonly()],
    ["describe", (id) => id.describe("the order")],
    ["meta", (id) => id.meta({ title: "order" })],
    ["refine", (id) => id.refine((value) => value !== V7)],
    ["check", (id) => id.min(3).toLowerCase()],
    ["brand", (id) => id.brand("OrderId")],
    ["transform", (id) => id.transform((value) => value.toLowerCase())],
    ["preprocess", (id) => z.preprocess((value) => value, id)],
    ["pipe", (id) => z.string().pipe(id)],
    ["union", (id) => z.union([z.literal("latest"), id])],
    ["intersection", (id) => id.and(z.string())],
    ["lazy", (id) => z.lazy(() => id)],
    ["all at once", (id) => id.describe("x").optional().nullable().default(null).describe("y").readonly()],
  ])("survives %s", (_name, wrap) => {
    expect(tableOfId(wrap(idOf(orders)))).toBe(orders);
    expect(tableOfId(wrap(z.guid()))).toBeUndefined();
  });
});

describe("findIds", () => {
  it("finds nothing in a schema without ids", () => {
    expect(findIds(z.object({ name: z.string(), at: z.date(), ref: z.uuid() }))).toEqual([]);
  });

  it("finds the id that a schema is", () => {
    expect(findIds(idOf(orders).optional())).toEqual([{ path: [], table: orders }]);
  });

  it("walks objects, arrays, tuples, records, maps, sets and unions", () => {
    const schema = z.object({
      customerId: idOf(customers),
      note: z.string(),
      lines: z.array(z.object({ orderId: idOf(orders).nullable() })).optional(),
      pair: z.tuple([z.string(), idOf(orders)], idOf(customers)),
      byCustomer: z.record(idOf(customers), z.number()),
      seen: z.map(z.string(), idOf(orders)),
      picked: z.set(idOf(orders)),
      either: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("order"), id: idOf(orders) }),
        z.object({ kind: z.literal("customer"), id: idOf(customers) }),
      ]),
    });
    const found = findIds(schema).map(({ path, table }) => [path.join("."), table === orders ? "orders" : "customers"]);
    expect(found).toEqual([
      ["customerId", "customers"],
      ["lines.*.orderId", "orders"],
      ["pair.1", "orders"],
      ["pair.*", "customers"],
      ["byCustomer.*", "customers"],
      ["seen.*", "orders"],
      ["picked.*", "orders"],
      ["either.id", "orders"],
      ["either.id", "customers"],
    ]);
  });

  it("looks into the unnamed properties of a loose object", () => {
    expect(findIds(z.object({}).catchall(idOf(orders)))).toEqual([{ path: ["*"], table: orders }]);
  });

  it("ends in a schema that contains itself", () => {
    const Node = z.object({
      id: idOf(orders),
      get children() {
        return z.array(Node);
      },
    });
    expect(findIds(Node)).toEqual([{ path: ["id"], table: orders }]);
  });

  it("keeps object schemas found through pick, extend and partial", () => {
    const schema = z
      .object({ orderId: idOf(orders), other: z.string() })
      .pick({ orderId: true })
      .partial();
    expect(findIds(schema.extend({ customerId: idOf(customers) })).map(({ path }) => path)).toEqual([
      ["orderId"],
      ["customerId"],
    ]);
  });
});
