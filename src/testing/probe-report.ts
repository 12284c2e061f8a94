/** One thing that was tried. */
export interface ProbeCheck {
  readonly name: string;
  readonly ok: boolean;
  /** What was seen, where it was not as it should be. */
  readonly detail?: string;
}

export interface RouteReport {
  readonly feature: string;
  readonly method: string;
  readonly path: string;
  readonly verdict: "passed" | "failed" | "skipped";
  /** Why it was skipped, or could not be probed. */
  readonly reason?: string;
  readonly checks: readonly ProbeCheck[];
}

export interface ProbeReport {
  /** True when no route failed and at least one was probed. */
  readonly passed: boolean;
  readonly routes: readonly RouteReport[];
}

/** The report for people: a line a route, what failed beneath it, and a last line with the count. */
export function formatProbeReport({ routes }: ProbeReport): string {
  const lines = routes.flatMap(({ method, path, verdict, reason, checks }) => [
    `${verdict.toUpperCase().padEnd(8)}${method.padEnd(7)}${path}${reason === undefined ? "" : `  (${reason})`}`,
    ...checks.filter((check) => !check.ok).map((check) => `        ${check.name}: ${check.detail ?? "failed"}`),
  ]);
  const count = (verdict: RouteReport["verdict"]) => routes.filter((route) => route.verdict === verdict).length;
  const checks = routes.flatMap((route) => route.checks);
  const failed = checks.filter((check) => !check.ok).length;
  const summary =
    `probed ${routes.length - count("skipped")} of ${routes.length} routes (${count("skipped")} skipped): ` +
    `${checks.length} checks, ${failed} failed, ${count("failed")} routes failed`;
  return [...lines, "", summary].join("\n");
}
