/**
 * Probes every route of the example on a throw-away server: another tenant's id must be answered like one that never was.
 *
 *   npm run probe             a report for people
 *   npm run probe -- --json   the same as JSON
 *
 * For an application of your own: `rowhouse probe --app PATH`.
 */
import { parseArgs } from "node:util";
import { features } from "../examples/invoicing/src/app.ts";
import { formatProbeReport, probe } from "../src/testing/index.ts";
import { openExampleDatabase } from "./example-database.ts";

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
await using example = await openExampleDatabase();
const report = await probe({ features, url: example.appUrl, ownerUrl: example.ownerUrl });
console.log(values.json ? JSON.stringify(report, null, 2) : formatProbeReport(report));
if (!report.passed) process.exitCode = 1;
