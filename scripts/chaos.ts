/**
 * `npm run chaos [seconds]` (600 as it comes): real workers on a real queue, killed, stopped, told to end and cut off at random. Ends with one line of totals; exits with
 * 1 when a job was lost, done twice, dead or stuck. The tests run the same for some seconds (test/chaos/).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";

const seconds = Number(process.argv[2] ?? 600);
if (!Number.isInteger(seconds) || seconds < 1) {
  console.error(`${process.argv[2]} is no number of seconds.`);
  process.exit(2);
}
const vitest = path.resolve(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
const child = spawn(process.execPath, [vitest, "run", "test/chaos"], {
  env: { ...process.env, TEST_CHAOS_SECONDS: String(seconds) },
  stdio: ["ignore", "pipe", "inherit"],
});
let totals = "no totals: the run ended before them";
createInterface(child.stdout).on("line", (line) => {
  const found = /enqueued \d+, .*stuck \d+/.exec(line);
  if (found) totals = found[0];
  else console.log(line);
});
const [code] = (await once(child, "close")) as [number | null];
console.log(totals);
process.exitCode = code ?? 1;
