import { describe, expect, it } from "vitest";
import { parentsFirst } from "../../../src/lifecycle/move/move-tables.ts";

/** "a > b c": a refers to b and c. */
const order = (...tables: string[]) =>
  parentsFirst(
    tables.map((text) => {
      const [name = "", others = ""] = text.split(" > ");
      return { name, refersTo: others.split(" ").filter(Boolean) };
    }),
  ).map((group) => group.map(({ name }) => name).join(" "));

describe("the order in which tables are written", () => {
  it("has parents before children, whatever order they come in", () => {
    expect(order("lines > orders items", "orders > customers", "customers", "items")).toEqual([
      "customers",
      "orders",
      "items",
      "lines",
    ]);
  });

  it("puts together what refers to each other in a circle, and nothing else", () => {
    expect(order("z", "entries > transfers", "a > b z", "b > c", "c > a", "transfers > a", "tree > tree")).toEqual([
      "z",
      "a b c",
      "transfers",
      "entries",
      "tree",
    ]);
  });

  it("leaves out what is not among the tables", () => {
    expect(order("a > elsewhere")).toEqual(["a"]);
  });
});
