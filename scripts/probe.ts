/**
 * Probes every route of the example on a throw-away server: another tenant's id must be answered like one that never was.
 *
 *   npm run probe             a report for people
 *   npm run probe -- --json   the same as JSON
 *   npm run probe -- --placement schema   with tenants in schemas of their own; mix: one of each two
 *
 * For an application of your own: `rowhouse probe --app PATH`.
 */
import { parseArgs } from "node:util";
import { features, migrations } from "../examples/invoicing/src/app.ts";
import { formatProbeReport, probe } from "../src/testing/index.ts";
import { openExampleDatabase } from "./example-database.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, placement: { type: "string", default: "shared" } },
});
const which = { shared: undefined, schema: "all", mix: "every second" } as const;
if (!(values.placement in which)) throw new Error(`--placement is shared, schema or mix, not ${values.placement}`);
const wanted = which[values.placement as keyof typeof which];
await using example = await openExampleDatabase();
const report = await probe({
  features,
  url: example.appUrl,
  ownerUrl: example.ownerUrl,
  dedicated: wanted && { ...example, folders: migrations, which: wanted },
});
console.log(values.json ? JSON.stringify(report, null, 2) : formatProbeReport(report));
if (!report.passed) process.exitCode = 1;
