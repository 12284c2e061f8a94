/**
 * Moves a tenant, as a process that can be killed, and prints each step as a line. With a step's name it kills itself when
 * that step begins: nothing of it runs after that.
 */
import { moveTenant, type MoveOptions } from "../../../src/lifecycle/move/move-tenant.ts";

const [json, killAt] = process.argv.slice(2) as [string, string | undefined];
const { tenant, ...options } = JSON.parse(json) as MoveOptions & { tenant: string };

await moveTenant(tenant, {
  ...options,
  onStep({ step, table }) {
    const name = table === undefined ? step : `${step} ${table}`;
    if (name === killAt) process.kill(process.pid, "SIGKILL");
    process.stdout.write(`${name}\n`);
  },
});
