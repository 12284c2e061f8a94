import { randomUUID } from "node:crypto";
import { parse as parseQuery } from "node:querystring";
import { inspect } from "node:util";
import type { RouteDefinition } from "../http/route-types.ts";
import { type BuiltRequest, buildRequest, type IdSlot, idSlots, sampleOf, slotName } from "./probe-request.ts";

/** How a route will be probed. */
export interface ProbePlan {
  readonly kind: "probe";
  readonly slots: readonly IdSlot[];
  /** The route can be called without any id: a list, a report, a POST of something new. */
  readonly isCallableWithoutIds: boolean;
}

export type Planned =
  | ProbePlan
  | { readonly kind: "skip"; readonly reason: string }
  /** The reason says what to add to the route. */
  | { readonly kind: "impossible"; readonly reason: string };

const OR_SKIP = 'or `probe: { skip: "reason" }`';

/** Decides how to probe a route, from its schemas and its sample alone. */
export async function planProbe(route: RouteDefinition): Promise<Planned> {
  if (route.probe && "skip" in route.probe) {
    const reason = route.probe.skip.trim();
    return reason === "" ? impossible("`probe: { skip }` has to say why the route cannot be probed") : skipped(reason);
  }
  if (route.body && sampleOf(route).body === undefined) {
    return impossible(`give it \`probe: { body: … }\` with what a valid body holds beside the ids, ${OR_SKIP}`);
  }
  const slots = idSlots(route);
  const open = Object.keys(route.params.shape).find(
    (name) => !slots.some(({ part, path }) => part === "params" && path.length === 1 && path[0] === name),
  );
  if (open !== undefined) {
    return impossible(`:${open} is no id that the probe knows: declare it with idOf(table), ${OR_SKIP}`);
  }
  const invalid = await problemOfSample(route, slots);
  if (invalid !== undefined) return impossible(invalid);
  const without = await parseRequest(route, buildRequest(route, new Map()));
  return { kind: "probe", slots, isCallableWithoutIds: "value" in without };
}

const skipped = (reason: string) => ({ kind: "skip", reason }) as const;
const impossible = (reason: string) => ({ kind: "impossible", reason }) as const;

/** An id that never reaches the handler would be answered alike whosever it is. */
async function problemOfSample(route: RouteDefinition, slots: readonly IdSlot[]): Promise<string | undefined> {
  for (const probed of slots.length > 0 ? slots : [undefined]) {
    // The probed one last: two slots may stand for one value, such as an id or a list of ids.
    const ordered = [...slots.filter((slot) => slot !== probed), ...(probed ? [probed] : [])];
    const ids = new Map(ordered.map((slot) => [slot, randomUUID() as string]));
    const request = buildRequest(route, ids);
    const id = probed && ids.get(probed);
    if (probed && !inspectAll([request.path, request.query, request.body]).includes(id!)) {
      return `the sample has no place for ${slotName(probed)}: let \`probe.${probed.part}\` hold an element for it, ${OR_SKIP}`;
    }
    const parsed = await parseRequest(route, request);
    if ("problem" in parsed) {
      return `the sample is not valid: ${parsed.problem}. Put it right in \`probe: { query, body }\`, ${OR_SKIP}`;
    }
    if (probed && !inspectAll(parsed.value).includes(id!)) {
      return `with this sample the schema drops ${slotName(probed)}: give a sample that uses it, ${OR_SKIP}`;
    }
  }
  return undefined;
}

const inspectAll = (value: unknown): string => inspect(value, { depth: null, maxArrayLength: null });

/** Parses as the router does. */
async function parseRequest(
  route: RouteDefinition,
  { params, query, body }: BuiltRequest,
): Promise<{ value: unknown[] } | { problem: string }> {
  const value: unknown[] = [];
  for (const [part, schema, given] of [
    ["params", route.params, params],
    ["query", route.query, { ...parseQuery(query) }],
    ["body", route.body, body],
  ] as const) {
    if (!schema) continue;
    const result = await schema.safeParseAsync(given);
    if (!result.success) {
      const [issue] = result.error.issues;
      return { problem: `${[part, ...(issue?.path ?? [])].map(String).join(".")}: ${issue?.message ?? "invalid"}` };
    }
    value.push(result.data);
  }
  return { value };
}
