import { randomBytes } from "node:crypto";
import type { RouteDefinition } from "../http/route-types.ts";
import { type Answer, type Ask, isTimeout, shown } from "./probe-client.ts";
import { planProbe, type ProbePlan } from "./probe-plan.ts";
import type { ProbeCheck, RouteReport } from "./probe-report.ts";
import { buildRequest, type ChosenIds, type IdSlot, slotName } from "./probe-request.ts";
import type { ProbeTenant } from "./probe-tenants.ts";

/** How many of a tenant's rows are tried in a slot: some may be refused for reasons of their own, such as being in use. */
const CANDIDATES = 5;
/** How many combinations of them are tried where a route takes several ids: which of them belong together is not known. */
const COMBINATIONS = 25;

interface Probing extends ProbePlan {
  readonly route: RouteDefinition;
  readonly a: ProbeTenant;
  readonly b: ProbeTenant;
  readonly ask: Ask;
}

/** Probes one route with a fresh pair of tenants, so that what it changes or removes is missed by no other. */
export async function probeRoute(
  route: RouteDefinition,
  makeTenant: () => Promise<ProbeTenant>,
  ask: Ask,
): Promise<RouteReport> {
  const about = { feature: route.feature, method: route.method.toUpperCase(), path: route.path };
  const failed = (reason: string): RouteReport => ({ ...about, verdict: "failed", reason, checks: [] });
  const plan = await planProbe(route);
  if (plan.kind === "skip") return { ...about, verdict: "skipped", reason: plan.reason, checks: [] };
  if (plan.kind === "impossible") return failed(plan.reason);

  const seeded = async () => {
    try {
      return await makeTenant();
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const first = await seeded();
  if (first instanceof Error) return failed(`a tenant could not be seeded: ${first.message}`);
  await using a = first;
  const second = await seeded();
  if (second instanceof Error) {
    return failed(`a second tenant could not be seeded alike: ${second.message} Does a constraint lack tenant_id?`);
  }
  await using b = second;

  const unseeded = plan.slots.find((slot) => b.ids(slot.table).length === 0);
  if (unseeded) return failed(`no seed makes a row for ${slotName(unseeded)}: add one to a feature's \`seed\``);
  try {
    const checks = await runChecks({ ...plan, route, a, b, ask });
    return { ...about, verdict: checks.every((check) => check.ok) ? "passed" : "failed", checks };
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return failed('its answer does not end: a stream cannot be probed, give `probe: { skip: "reason" }`');
  }
}

async function runChecks(probing: Probing): Promise<ProbeCheck[]> {
  const { slots, isCallableWithoutIds, a, b } = probing;
  const before = await b.digest();
  const checks: ProbeCheck[] = [];
  for (const slot of slots) checks.push(await probeIds(probing, [slot], `another tenant's id in ${slotName(slot)}`));
  // A row below another is found only where both ids are right: a wall that has fallen shows in no single one.
  if (slots.length > 1) checks.push(await probeIds(probing, slots, "another tenant's ids in all places at once"));
  // The tenant's own requests come after the foreign ones, which need its rows.
  checks.push(await probeOwn(probing, combinations(a, slots)));
  if (slots.length > 0 && isCallableWithoutIds) checks.push(await probeOwn(probing, [new Map()]));
  checks.push(
    verdict(
      "the other tenant's rows are unchanged",
      before === (await b.digest()) ? undefined : "a row of it was changed, added or removed",
    ),
  );
  // Last of all, since it may remove what it is about. What reads a list comes before what a filter of it finds.
  if (slots.length > 0 && isCallableWithoutIds && probing.route.method === "get")
    checks.push(await control(probing, [], "the tenant's own request without ids succeeds"));
  checks.push(await control(probing, slots, "the tenant's own request succeeds"));
  return checks;
}

const verdict = (name: string, detail: string | undefined): ProbeCheck =>
  detail === undefined ? { name, ok: true } : { name, ok: false, detail };

/** A asks for B's rows in the places that are probed; everything else in the request is A's own and valid. */
async function probeIds(
  { route, slots, a, b, ask }: Probing,
  probed: readonly IdSlot[],
  name: string,
): Promise<ProbeCheck> {
  const others = slots.filter((slot) => !probed.includes(slot));
  for (const own of combinations(a, others)) {
    for (const foreign of combinations(b, probed)) {
      const missing = new Map(probed.map((slot) => [slot, neverIssued()]));
      // The probed ones last: they win where two slots stand for one value.
      const never = await ask(a, buildRequest(route, new Map([...own, ...missing])));
      const theirs = await ask(a, buildRequest(route, new Map([...own, ...foreign])));
      const detail = difference(never, theirs, [...foreign.values()]);
      if (detail !== undefined) return verdict(name, detail);
    }
  }
  return verdict(name, undefined);
}

function difference(never: Answer, theirs: Answer, ids: readonly string[]): string | undefined {
  if (never.text !== theirs.text) {
    const repeats = ids.some((id) => theirs.text.includes(id)) ? "; it must not repeat the id either" : "";
    return `answered ${shown(theirs)}, while an id that never existed is answered ${shown(never)}${repeats}`;
  }
  if (never.status < 500) return undefined;
  return `an id that never existed is answered ${shown(never)}, which proves nothing: answer 404`;
}

/** A's own requests, with A's ids or none: nothing of B may be in what A gets. */
async function probeOwn({ route, a, b, ask }: Probing, requests: readonly ChosenIds[]): Promise<ProbeCheck> {
  const name = "nothing of another tenant in the answer";
  for (const ids of requests) {
    const { text } = await ask(a, buildRequest(route, ids));
    const leaked = b.allIds.find((id) => text.includes(id));
    if (leaked !== undefined) return verdict(name, `it holds ${leaked}, which is another tenant's`);
  }
  return verdict(name, undefined);
}

/** The positive control: what was refused to A must be possible for B, with one of the combinations that A tried. */
async function control({ route, b, ask }: Probing, slots: readonly IdSlot[], name: string): Promise<ProbeCheck> {
  const isList = route.method === "get" && slots.every((slot) => slot.part === "query");
  let refused: Answer | undefined;
  let wasEmpty = false;
  for (const ids of combinations(b, slots)) {
    const answer = await ask(b, buildRequest(route, ids));
    const isFound = answer.status >= 200 && answer.status < 300;
    if (isFound && (!isList || b.allIds.some((id) => answer.body.includes(id)))) return verdict(name, undefined);
    if (isFound) wasEmpty = true;
    else refused = answer;
  }
  if (wasEmpty) {
    const remedy = 'seed some, or say `probe: { skip: "reason" }` when it shows none by design';
    return verdict(name, `its answer holds none of the tenant's own ids, so it proves nothing: ${remedy}`);
  }
  return verdict(name, refused && `it was answered ${shown(refused)}${hint(refused)}`);
}

function hint({ status, body }: Answer): string {
  if (body.includes("ERR_UNIQUE_VIOLATION")) {
    return (
      ". A value of `probe.body` is taken: choose one that no seed uses; if none does, another tenant has it, and the " +
      "unique constraint lacks tenant_id"
    );
  }
  return status >= 400 && status < 500
    ? ". Change `probe` or a feature's `seed` so that one of the rows allows it"
    : "";
}

/** A tenant's ids for the slots: its first rows everywhere, then its second ones, then all the others. */
function combinations(tenant: ProbeTenant, slots: readonly IdSlot[]): ChosenIds[] {
  const choices = slots.map((slot) => tenant.ids(slot.table).slice(0, CANDIDATES));
  const diagonal = Array.from({ length: CANDIDATES }, (_, n) =>
    choices.map((ids) => ids[Math.min(n, ids.length - 1)]!),
  );
  const product = choices.reduce<string[][]>((rows, ids) => rows.flatMap((row) => ids.map((id) => [...row, id])), [[]]);
  const distinct = new Map([...diagonal, ...product].map((ids) => [ids.join(), ids]));
  return [...distinct.values()]
    .slice(0, COMBINATIONS)
    .map((ids) => new Map(slots.map((slot, place) => [slot, ids[place]!])));
}

/** A UUIDv7 in form, of the year 1970: no row has it. */
const neverIssued = (): string => {
  const random = randomBytes(10).toString("hex");
  return `00000000-0000-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`;
};
