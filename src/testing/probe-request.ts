import type { RouteDefinition } from "../http/route-types.ts";
import { findIds, type IdPlace } from "../tables/id-of.ts";

/** One place of a route's request that holds the id of a tenant's row. */
export interface IdSlot extends IdPlace {
  readonly part: "params" | "query" | "body";
}

/** Chooses the id for a slot. */
export type ChooseId = (slot: IdSlot) => string;

/** Every place in which a route takes the id of a tenant table (`idOf()`). */
export function idSlots(route: RouteDefinition): IdSlot[] {
  const of = (part: IdSlot["part"], schema: RouteDefinition["body"]) =>
    schema ? findIds(schema).map((place) => ({ part, ...place })) : [];
  return [...of("params", route.params), ...of("query", route.query), ...of("body", route.body)];
}

export const slotName = ({ part, path }: IdSlot): string => [part, ...path].join(".");

export interface BuiltRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly body: string | undefined;
}

/** Writes a request of the route: its sample (`probe`) with an id in each slot. */
export function buildRequest(route: RouteDefinition, slots: readonly IdSlot[], choose: ChooseId): BuiltRequest {
  const probe = route.probe && !("skip" in route.probe) ? route.probe : {};
  const params: Record<string, string> = {};
  const query: Record<string, string> = { ...probe.query };
  const body: unknown = structuredClone(probe.body);
  for (const slot of slots) {
    const id = choose(slot);
    if (slot.part === "body") setAt(body, slot.path, id);
    else (slot.part === "params" ? params : query)[slot.path.join(".")] = id;
  }
  const path = route.path.replace(/:([A-Za-z_]\w*)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams(query).toString();
  return {
    method: route.method.toUpperCase(),
    url: search === "" ? path : `${path}?${search}`,
    body: route.body ? JSON.stringify(body) : undefined,
  };
}

/** Sets the value at a path; `*` stands for every element that the sample has. */
function setAt(target: unknown, [step, ...rest]: readonly string[], value: string): void {
  if (typeof target !== "object" || target === null || step === undefined) return;
  const container = target as Record<string, unknown>;
  const keys = step === "*" ? Object.keys(container) : [step];
  for (const key of keys) {
    if (rest.length === 0) container[key] = value;
    else setAt(container[key], rest, value);
  }
}
