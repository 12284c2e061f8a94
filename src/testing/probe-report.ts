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

/** The report for people: each route with what was tried, and a last line with the counts. */
export function formatProbeReport({ routes }: ProbeReport): string {
  const lines = routes.flatMap(({ method, path, verdict, reason, checks }) => [
    `${verdict.toUpperCase().padEnd(8)}${method.padEnd(7)}${path}${reason === undefined ? "" : `  (${reason})`}`,
    ...checks.map(({ name, ok, detail = "" }) => `        ${ok ? "ok  " : "FAIL"} ${name}${ok ? "" : `: ${detail}`}`),
  ]);
  const checks = routes.flatMap((route) => route.checks);
  const probed = routes.filter((route) => route.checks.length > 0).length;
  const skipped = routes.filter((route) => route.verdict === "skipped").length;
  const impossible = routes.length - probed - skipped;
  const left = `${skipped} skipped${impossible === 0 ? "" : `, ${impossible} could not be probed`}`;
  const failed = checks.filter((check) => !check.ok).length;
  const summary = `probed ${probed} of ${routes.length} routes (${left}): ${checks.length} checks, ${failed} failed`;
  return [...lines, "", summary].join("\n");
}
