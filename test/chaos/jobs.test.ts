import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJobServer } from "../jobs/job-server.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { chaos } from "./chaos.ts";

/** Seconds of chaos: some in every run of the tests, minutes with `npm run chaos`. */
const SECONDS = Number(process.env["TEST_CHAOS_SECONDS"] ?? 8);

let server: TestDatabase;

beforeAll(async () => {
  server = await createTestDatabase();
});
afterAll(() => server.drop());

describe("jobs, while their workers are killed, stopped and cut off", () => {
  it("have their effect once each, and none is lost or stuck", { timeout: SECONDS * 1_000 + 120_000 }, async () => {
    const { withTenant } = createJobServer(server);
    const tenants = await Promise.all(Array.from({ length: 5 }, async () => (await server.createTenant()).id));
    const totals = await chaos({ server, withTenant, tenants, workers: 3, duration: SECONDS * 1_000, ttl: 1_500 });
    console.log(
      Object.entries(totals)
        .map(([name, value]) => `${name} ${Array.isArray(value) ? value.length : String(value)}`)
        .join(", "),
    );
    expect(totals).toMatchObject({ lost: [], twice: [], dead: 0, stuck: 0 });
    expect(totals.enqueued).toBeGreaterThan(0);
  });
});
