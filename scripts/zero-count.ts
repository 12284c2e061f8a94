/**
 * Proves on a running database that the application sees nothing without a tenant.
 *
 *   npm run zero-count             a report for people
 *   npm run zero-count -- --json   the same as JSON
 *
 * With DATABASE_URL and OWNER_DATABASE_URL it looks at that database; without, at the example's, on a throw-away server.
 * Exits with 1 unless every tenant table is proven or out of reach.
 */
import { parseArgs } from "node:util";
import { readConfig } from "../src/config.ts";
import { connectSql } from "../src/database/sql-connection.ts";
import { formatZeroCount } from "../src/doctor/zero-count-report.ts";
import { zeroCount } from "../src/doctor/zero-count.ts";
import { openExampleDatabase } from "./example-database.ts";

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });
const { urls, rolePrefix } = readConfig();
await using example = urls === undefined ? await openExampleDatabase() : undefined;
const target = example ?? { appUrl: urls?.app ?? "", ownerUrl: urls?.owner ?? "", rolePrefix };
await using app = await connectSql(target.appUrl, "rowhouse zero-count");
await using owner = await connectSql(target.ownerUrl, "rowhouse zero-count");
const report = await zeroCount({ app, owner, rolePrefix: target.rolePrefix });
process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : formatZeroCount(report));
if (report.verdict !== "passed") process.exitCode = 1;
