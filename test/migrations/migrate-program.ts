/** Migrates a database and prints the report, as JSON: for tests that need a process of its own. */
import { migrate } from "../../src/migrations/migrate.ts";

const [ownerUrl, rolePrefix, folder] = process.argv.slice(2) as [string, string, string];
console.log(JSON.stringify(await migrate({ ownerUrl, rolePrefix, folders: [{ source: "app", path: folder }] })));
