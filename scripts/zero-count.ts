/**
 * Proves on a running database that the application sees nothing without a tenant.
 *
 *   npm run zero-count             a report for people
 *   npm run zero-count -- --json   the same as JSON
 *
 * Needs DATABASE_URL and OWNER_DATABASE_URL. Exits with 1 unless every tenant table is proven or out of reach.
 */
import { parseArgs } from "node:util";
import { readConfig } from "../src/config.ts";
import { connectSql } from "../src/database/sql-connection.ts";
import { formatZeroCount } from "../src/doctor/zero-count-report.ts";
import { zeroCount } from "../src/doctor/zero-count.ts";
import { ConfigInvalid } from "../src/errors.ts";

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
const { urls, rolePrefix } = readConfig();
if (urls === undefined)
  throw new ConfigInvalid("Set DATABASE_URL and OWNER_DATABASE_URL: zero-count compares the two.");
await using app = await connectSql(urls.app, "rowhouse zero-count");
await using owner = await connectSql(urls.owner, "rowhouse zero-count");
const report = await zeroCount({ app, owner, rolePrefix });
process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : formatZeroCount(report));
if (report.verdict !== "passed") process.exitCode = 1;
