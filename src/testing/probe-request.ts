import type { RouteDefinition } from "../http/route-types.ts";
import { findIds, type IdPlace } from "../tables/id-of.ts";

/** One place of a route's request that holds the id of a tenant's row. */
export interface IdSlot extends IdPlace {
  readonly part: "params" | "query" | "body";
}

/** The id for each slot that is to hold one. */
export type ChosenIds = ReadonlyMap<IdSlot, string>;

/** Every place in which a route takes the id of a tenant table (`idOf()`). */
export function idSlots(route: RouteDefinition): IdSlot[] {
  const of = (part: IdSlot["part"], schema: RouteDefinition["body"]) =>
    schema ? findIds(schema).map((place) => ({ part, ...place })) : [];
  return [...of("params", route.params), ...of("query", route.query), ...of("body", route.body)];
}

export const slotName = ({ part, path }: IdSlot): string => [part, ...path].join(".");

export interface BuiltRequest {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Encoded, without "?". */
  readonly query: string;
  readonly body: unknown;
}

/** The sample that a route gives to the probe. */
export const sampleOf = ({ probe }: RouteDefinition) => (probe && !("skip" in probe) ? probe : {});

/** Writes a request of the route: its sample with the chosen ids in their slots. */
export function buildRequest(route: RouteDefinition, ids: ChosenIds): BuiltRequest {
  const sample = sampleOf(route);
  const params: Record<string, string> = {};
  const query = new URLSearchParams(sample.query);
  const body: unknown = structuredClone(sample.body);
  for (const [{ part, path }, id] of ids) {
    const [name = ""] = path;
    if (part === "body") setAt(body, path, id);
    else if (part === "params") params[name] = id;
    else setInQuery(query, path, id);
  }
  const path = route.path
    .replace(/[{}]/g, "")
    .replace(/:([A-Za-z_]\w*)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  return { method: route.method.toUpperCase(), path, params, query: query.toString(), body };
}

/** A parameter is a list only when it is given more than once. */
function setInQuery(query: URLSearchParams, [name = "", ...rest]: readonly string[], id: string): void {
  if (rest.length > 1 || (rest.length === 1 && rest[0] !== "*")) return;
  query.delete(name);
  for (let times = rest.length; times >= 0; times -= 1) query.append(name, id);
}

/** Sets the value at a path; `*` stands for every element that the sample has. Objects on the way are made. */
function setAt(target: unknown, [step, ...rest]: readonly string[], value: string): void {
  if (typeof target !== "object" || target === null || step === undefined) return;
  const container = target as Record<string, unknown>;
  for (const key of step === "*" ? Object.keys(container) : [step]) {
    if (rest.length === 0) {
      container[key] = value;
      continue;
    }
    // What holds elements has to come from the sample: how many a valid request has, only its author knows.
    if (rest[0] !== "*") container[key] ??= {};
    setAt(container[key], rest, value);
  }
}
