import { randomBytes } from "node:crypto";
import { connectSql } from "../database/sql-connection.ts";
import type { Feature } from "../http/feature.ts";
import { createRowhouse } from "../rowhouse.ts";
import { createProbeClient, probeResolver } from "./probe-client.ts";
import type { ProbeReport, RouteReport } from "./probe-report.ts";
import { probeRoute } from "./probe-route.ts";
import { createProbeTenants, type DedicatedProbe } from "./probe-tenants.ts";

export interface ProbeOptions {
  readonly features: readonly Feature[];
  /** The app role's URL: what is probed is what would serve. */
  readonly url: string;
  /** The owner's URL: makes the two tenants, and looks at their rows. */
  readonly ownerUrl: string;
  /** Makes tenants in schemas of their own. @defaultValue none: all live in the shared tables */
  readonly dedicated?: DedicatedProbe | undefined;
}

/**
 * Proves for every route that one tenant cannot reach another's rows. For each route two tenants are made with alike
 * data (the features' `seed`). A sends B's ids, and the answer must equal the one for an id which never existed, byte
 * for byte; A's own requests must be answered with nothing of B; B's rows, in every tenant table, must not have changed;
 * and B's own request must succeed, or the proof would prove nothing. Authorisation is cleared first (A has every
 * scope), so it is the wall that is tested. The tenants and their rows are removed again.
 *
 * A route fails as well when it cannot be probed and does not say why (`probe: { skip: "…" }`).
 *
 * @throws UnsafeRole, DatabaseUnavailable as `createRowhouse()` does
 * @throws RowhouseError when a tenant cannot be removed again
 */
export async function probe({ features, url, ownerUrl, dedicated }: ProbeOptions): Promise<ProbeReport> {
  const secret = randomBytes(16).toString("hex");
  const scopes = [...new Set(features.flatMap((feature) => feature.routes.flatMap((route) => route.scopes)))];
  const resolvers = [probeResolver(secret, scopes)];
  await using rowhouse = await createRowhouse({ url, features, resolvers, log: "silent" });
  await using owner = await connectSql(ownerUrl, "rowhouse probe");
  const server = await rowhouse.listen({ port: 0, host: "127.0.0.1" });
  const makeTenant = await createProbeTenants(rowhouse, owner, dedicated);
  const ask = createProbeClient(server.url, secret);

  const routes: RouteReport[] = [];
  for (const route of rowhouse.routes) routes.push(await probeRoute(route, makeTenant, ask));
  const has = (verdict: RouteReport["verdict"]) => routes.some((route) => route.verdict === verdict);
  return { passed: has("passed") && !has("failed"), routes };
}
