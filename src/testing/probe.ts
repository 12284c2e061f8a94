import { randomBytes } from "node:crypto";
import { connectSql } from "../database/sql-connection.ts";
import type { Feature } from "../http/feature.ts";
import type { RouteDefinition } from "../http/route-types.ts";
import { createRowhouse } from "../rowhouse.ts";
import type { TenantResolver } from "../tenancy/resolver.ts";
import type { ProbeCheck, ProbeReport, RouteReport } from "./probe-report.ts";
import { buildRequest, idSlots, slotName, type BuiltRequest, type ChooseId, type IdSlot } from "./probe-request.ts";
import { createProbeTenants, type ProbeTenant } from "./probe-tenants.ts";

export interface ProbeOptions {
  readonly features: readonly Feature[];
  /** The app role's URL: what is probed is what would serve. */
  readonly url: string;
  /** The owner's URL: makes the two tenants, and looks at their rows. */
  readonly ownerUrl: string;
}

interface Answer {
  readonly status: number;
  /** The whole answer but `X-Request-Id`, `Date` and the request id in a problem document. */
  readonly text: string;
  readonly body: string;
}

type Ask = (tenant: ProbeTenant, request: BuiltRequest) => Promise<Answer>;

/** How many of a tenant's rows are tried: some may be refused for reasons of their own, such as being in use. */
const CANDIDATES = 5;

/**
 * Proves for every route that one tenant cannot reach another's rows. For each route two tenants are made with alike
 * data (the features' `seed`); A sends B's ids, and the answer must equal the one for an id which never existed, byte
 * for byte; B's rows must not have changed; and B's own request must succeed, or the proof would prove nothing.
 * Authorisation is cleared first (A has every scope), so it is the wall that is tested. The tenants are removed again.
 *
 * A route fails as well when it cannot be probed and does not say why (`probe: { skip: "…" }`).
 */
export async function probe({ features, url, ownerUrl }: ProbeOptions): Promise<ProbeReport> {
  const secret = randomBytes(16).toString("hex");
  const scopes = [...new Set(features.flatMap((feature) => feature.routes.flatMap((route) => route.scopes)))];
  const resolver: TenantResolver = {
    name: "probe",
    resolve({ headers }) {
      const [given, id = ""] = String(headers["x-probe"]).split(" ");
      if (given !== secret) return Promise.resolve(undefined);
      return Promise.resolve({ tenant: { by: "id", id }, principal: { kind: "user", id: "probe", scopes } });
    },
  };
  await using rowhouse = await createRowhouse({ url, features, resolvers: [resolver], log: "silent" });
  await using owner = await connectSql(ownerUrl, "rowhouse probe");
  const server = await rowhouse.listen({ port: 0, host: "127.0.0.1" });
  const makeTenant = createProbeTenants(rowhouse, owner);
  const ask: Ask = (tenant, request) => send(server.url, request, `${secret} ${tenant.id}`);

  const routes: RouteReport[] = [];
  for (const route of rowhouse.routes) routes.push(await probeRoute(route, makeTenant, ask));
  return { passed: routes.length > 0 && routes.every((route) => route.verdict !== "failed"), routes };
}

async function probeRoute(
  route: RouteDefinition,
  makeTenant: () => Promise<ProbeTenant>,
  ask: Ask,
): Promise<RouteReport> {
  const about = { feature: route.feature, method: route.method.toUpperCase(), path: route.path };
  if (route.probe && "skip" in route.probe)
    return { ...about, verdict: "skipped", reason: route.probe.skip, checks: [] };
  const slots = idSlots(route);
  const missing = whatIsMissing(route, slots);
  if (missing !== undefined) return { ...about, verdict: "failed", reason: missing, checks: [] };

  const [a, b] = [await makeTenant(), await makeTenant()];
  try {
    const unseeded = slots.find((slot) => b.ids(slot.table).length === 0);
    if (unseeded) {
      const reason = `no seed makes a row for ${slotName(unseeded)}: add one to a feature's \`seed\``;
      return { ...about, verdict: "failed", reason, checks: [] };
    }
    const before = await b.digest();
    const checks =
      slots.length > 0 ? await probeIds(route, slots, a, b, ask) : [await probeWithoutIds(route, a, b, ask)];
    checks.push(sameRows(before, await b.digest()));
    checks.push(await control(route, slots, b, ask));
    return { ...about, verdict: checks.every((check) => check.ok) ? "passed" : "failed", checks };
  } finally {
    await a.remove();
    await b.remove();
  }
}

function whatIsMissing(route: RouteDefinition, slots: readonly IdSlot[]): string | undefined {
  const probe = route.probe && !("skip" in route.probe) ? route.probe : undefined;
  if (route.body && probe?.body === undefined) {
    return "give it `probe: { body: … }` with what a valid body holds beside the ids, or `probe: { skip: reason }`";
  }
  const names = Object.keys(route.params.shape);
  const open = names.find((name) => !slots.some((slot) => slot.part === "params" && slot.path[0] === name));
  if (open === undefined) return undefined;
  return `:${open} is no id that the probe knows: declare it with idOf(table), or give \`probe: { skip: reason }\``;
}

/** A asks for B's rows in each place in turn; everything else in the request is A's own and valid. */
async function probeIds(
  route: RouteDefinition,
  slots: readonly IdSlot[],
  a: ProbeTenant,
  b: ProbeTenant,
  ask: Ask,
): Promise<ProbeCheck[]> {
  const checks: ProbeCheck[] = [];
  for (const probed of slots) {
    for (const foreign of b.ids(probed.table).slice(0, CANDIDATES)) {
      const choose =
        (id: string): ChooseId =>
        (slot) =>
          slot === probed ? id : (a.ids(slot.table)[0] ?? "");
      const never = await ask(a, buildRequest(route, slots, choose(neverIssued())));
      const theirs = await ask(a, buildRequest(route, slots, choose(foreign)));
      checks.push(sameAnswer(slotName(probed), never, theirs));
    }
  }
  return checks;
}

function sameAnswer(slot: string, never: Answer, theirs: Answer): ProbeCheck {
  const name = `another tenant's id in ${slot}`;
  if (never.text === theirs.text) return { name, ok: true };
  const detail = `answered ${theirs.status} ${theirs.body.slice(0, 200)}, while an id that never existed is answered ${never.status} ${never.body.slice(0, 200)}`;
  return { name, ok: false, detail };
}

/** A list, a report, a POST of something new: nothing of B may be in what A gets. */
async function probeWithoutIds(route: RouteDefinition, a: ProbeTenant, b: ProbeTenant, ask: Ask): Promise<ProbeCheck> {
  const { body } = await ask(a, buildRequest(route, [], neverIssued));
  const leaked = b.allIds.find((id) => body.includes(id)) ?? (body.includes(b.id) ? b.id : undefined);
  const name = "nothing of another tenant in the answer";
  return leaked === undefined
    ? { name, ok: true }
    : { name, ok: false, detail: `it holds ${leaked}, which is another tenant's` };
}

const sameRows = (before: string, after: string): ProbeCheck =>
  before === after
    ? { name: "the other tenant's rows are unchanged", ok: true }
    : { name: "the other tenant's rows are unchanged", ok: false, detail: "a row of it was changed, added or removed" };

/** The positive control: what was refused to A must be possible for B. */
async function control(
  route: RouteDefinition,
  slots: readonly IdSlot[],
  b: ProbeTenant,
  ask: Ask,
): Promise<ProbeCheck> {
  const name = "the tenant's own request succeeds";
  const tries = slots.length === 0 ? 1 : CANDIDATES;
  let last: Answer | undefined;
  for (let n = 0; n < tries; n++) {
    last = await ask(
      b,
      buildRequest(route, slots, ({ table }) => b.ids(table)[n] ?? b.ids(table)[0] ?? ""),
    );
    if (last.status >= 300) continue;
    const isList = route.method === "get" && slots.every((slot) => slot.part === "query");
    if (!isList || b.allIds.some((id) => last?.body.includes(id))) return { name, ok: true };
    return { name, ok: false, detail: "the list holds none of the tenant's own rows, so it proves nothing: seed some" };
  }
  return { name, ok: false, detail: `it was answered ${last?.status} ${last?.body.slice(0, 200)}` };
}

/** A UUIDv7 in form, of the year 1970: no row has it. */
const neverIssued = (): string => {
  const random = randomBytes(10).toString("hex");
  return `00000000-0000-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`;
};

async function send(origin: string, { method, url, body }: BuiltRequest, credentials: string): Promise<Answer> {
  const response = await fetch(origin + url, {
    method,
    redirect: "manual",
    headers: { "x-probe": credentials, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body }),
  });
  const requestId = response.headers.get("x-request-id") ?? "";
  const text = (await response.text()).replaceAll(requestId, "");
  const headers = [...response.headers].filter(([name]) => name !== "x-request-id" && name !== "date");
  return { status: response.status, body: text, text: JSON.stringify([response.status, headers, text]) };
}
