import { describe, expect, it } from "vitest";
import { backoffDelay } from "../../src/jobs/backoff.ts";
import { failureOf } from "../../src/jobs/failure.ts";
import { createHorizon } from "../../src/jobs/horizon.ts";
import { createLanes, type Lane } from "../../src/jobs/lanes.ts";

const lane = (tenantId: string, changes: Partial<Lane> = {}): Lane => ({
  ...{ queue: "q", tenantId, type: "t", priority: 2 },
  ...changes,
});

const taken = (
  lanes: ReturnType<typeof createLanes>,
  places: number,
  held: Record<string, number> = {},
  newcomers = 1,
) =>
  lanes
    .take(places, new Map(Object.entries(held)), newcomers)
    .map(({ lane: { tenantId, priority }, quota }) => [tenantId, priority, quota]);

describe("lanes", () => {
  it("divide places among the tenants that have work, what each holds counting", () => {
    const lanes = createLanes();
    for (const tenant of ["a", "b", "c"]) lanes.add(lane(tenant), 1);
    expect(taken(lanes, 9)).toEqual([
      ["a", 2, 3],
      ["b", 2, 3],
      ["c", 2, 3],
    ]);
    expect(taken(lanes, 6, { a: 6 })).toEqual([
      ["b", 2, 4],
      ["c", 2, 2],
    ]);
  });

  it("begin with whoever has waited longest", () => {
    const lanes = createLanes();
    for (const tenant of ["a", "b", "c"]) lanes.add(lane(tenant), 1);
    expect(taken(lanes, 1, { a: 1, b: 1, c: 1 })).toEqual([["a", 2, 1]]);
    expect(taken(lanes, 1, { a: 1, b: 1, c: 1 })).toEqual([["b", 2, 1]]);
    expect(taken(lanes, 1, { a: 1, b: 1, c: 1 })).toEqual([["c", 2, 1]]);
  });

  it("give a newcomer a place where there is none, and others nothing", () => {
    const lanes = createLanes();
    lanes.add(lane("a"), 1);
    lanes.add(lane("b"), 1);
    expect(taken(lanes, 0, { a: 10 })).toEqual([["b", 2, 1]]);
    expect(taken(lanes, 0, { a: 10 }, 0)).toEqual([]);
  });

  it("come in the order of their priorities, and by weight", () => {
    const lanes = createLanes();
    lanes.add(lane("a"), 1);
    lanes.add(lane("a", { priority: 0 }), 5);
    lanes.add(lane("b"), 1);
    lanes.setWeights(new Map([["b", 3]]));
    expect(taken(lanes, 8)).toEqual([
      ["a", 0, 2],
      ["a", 2, 2],
      ["b", 2, 6],
    ]);
  });

  it("are gone when they gave less than was asked for, and look after the last number otherwise", () => {
    const lanes = createLanes();
    lanes.add(lane("a"), 7);
    const [quota] = lanes.take(2, new Map(), 0);
    expect(quota).toMatchObject({ lane: { after: 6 }, quota: 2 });
    lanes.found(quota!, 2, 9);
    expect(lanes.take(2, new Map(), 0)[0]).toMatchObject({ lane: { after: 9 } });
    // Somebody's transaction took longer.
    lanes.add(lane("a"), 8);
    const [again] = lanes.take(2, new Map(), 0);
    expect(again).toMatchObject({ lane: { after: 7 } });
    lanes.found(again!, 1, 8);
    expect(lanes.size).toBe(0);
  });
});

describe("the horizon", () => {
  it("follows when all that may have drawn a number have ended, or after ten seconds", () => {
    let now = 0;
    const horizon = createHorizon(() => now);
    expect(horizon.note({ last: 5, fence: 100n, oldest: 90n })).toBe(0);
    expect(horizon.note({ last: 8, fence: 110n, oldest: 100n })).toBe(5);
    now = 9_999;
    expect(horizon.note({ last: 8, fence: 120n, oldest: 105n })).toBe(5);
    now = 10_001;
    expect(horizon.note({ last: 8, fence: 130n, oldest: 105n })).toBe(8);
  });
});

describe("the wait after a failure", () => {
  it("doubles, is spread over its upper half, and has an end", () => {
    expect(backoffDelay(1, {}, () => 0)).toBe(500);
    expect(backoffDelay(1, {}, () => 1)).toBe(1_000);
    expect(backoffDelay(4, {}, () => 1)).toBe(8_000);
    for (const failures of [13, 310, 2_000, 1e9]) expect(backoffDelay(failures, {}, () => 1)).toBe(3_600_000);
    expect(backoffDelay(3, { first: 10, factor: 3, max: 50 }, () => 1)).toBe(50);
  });
});

describe("what is kept of a failure", () => {
  it("can be stored, whatever was thrown", () => {
    const circle: Record<string, unknown> = { n: 1n };
    circle["self"] = circle;
    const trap = new Error("x");
    Object.defineProperty(trap, "message", {
      get() {
        throw new Error("not even that");
      },
    });
    for (const [thrown, message] of [
      [new TypeError("a\0b"), "TypeError: a␀b"],
      ["text", "text"],
      [undefined, "undefined"],
      [null, "null"],
      [12n, "12"],
      [Symbol("s"), "Symbol(s)"],
      [circle, '{"n":"1n","self":"[circular]"}'],
      ["\ud800", "\ufffd"],
      [trap, "a object was thrown that cannot be described"],
    ] as const) {
      const failure = failureOf(thrown);
      expect(failure.message).toBe(message);
      expect(JSON.stringify(failure)).not.toMatch(/\\u0000|\\ud8/);
    }
    expect(failureOf("x".repeat(10_000_000)).message).toHaveLength(2_000);
    const chain = new Error("outer", { cause: new Error("inner") });
    expect(failureOf(chain).stack).toMatch(/Error: outer[^]*caused by Error: inner/);
    chain.cause = chain;
    expect(failureOf(chain).stack!.length).toBeLessThanOrEqual(8_000);
  });
});
