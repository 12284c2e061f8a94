/**
 * A program that uses the embedded PostgreSQL, to be interrupted, killed and run twice: see embedded-process.ts.
 * With "drains" as its second argument it listens for SIGINT itself, and finishes its work before it stops the server.
 */
import { startEmbeddedPostgres } from "../../src/database/embedded.ts";

const [, , directory = ".rowhouse", mode] = process.argv;
const postgres = await startEmbeddedPostgres({ directory });
if (mode === "drains") {
  process.once("SIGINT", () => {
    console.log("finishing");
    process.stdin.once("data", () => void postgres.stop().then(() => process.exit(0)));
  });
}
const { urls, port, directory: home } = postgres;
console.log(JSON.stringify({ urls, port, directory: home }));
