import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SqlConnection } from "../../src/database/sql-connection.ts";
import { runDoctor } from "../../src/doctor/doctor.ts";
import { maintainJobHistory } from "../../src/jobs/job-history.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let server: TestDatabase;
let owner: SqlConnection;

beforeAll(async () => {
  server = await createTestDatabase();
  owner = await server.connectAsOwner();
});

afterAll(async () => {
  await owner.end();
  await server.drop();
});

const end = (when: string) =>
  owner.query(
    `insert into rowhouse.job_history (tenant_id, id, type, queue, attempts, outcome, created_at, finished_at)
     values (gen_random_uuid(), gen_random_uuid(), 't', 'q', 1, 'done', now(), ${when})`,
  );

const places = async () =>
  (
    await owner.query<{ place: string }>(
      "select tableoid::regclass::text as place from rowhouse.job_history order by 1",
    )
  ).rows.map(({ place }) => place);

describe("the job history", () => {
  it("gets a partition for each day to come, once, and loses those that are over", async () => {
    await end("now() - interval '40 days'");
    const first = await maintainJobHistory(owner, { aheadDays: 3, keepDays: 2 });
    expect(first.made).toHaveLength(3);
    expect(first).toMatchObject({ dropped: [], deleted: 1 });
    expect(await maintainJobHistory(owner, { aheadDays: 3, keepDays: 2 })).toEqual({
      made: [],
      dropped: [],
      deleted: 0,
    });
    await end("now()");
    await end("now() + interval '1 day'");
    const kept = [`rowhouse.${first.made[0]}`, "rowhouse.job_history_rest"];
    expect(await places()).toEqual(kept);

    await owner.query(
      "create table rowhouse.job_history_20200101 partition of rowhouse.job_history for values from ('2020-01-01 00:00+00') to ('2020-01-02 00:00+00')",
    );
    await end("'2020-01-01 12:00+00'");
    expect(await maintainJobHistory(owner, { aheadDays: 3, keepDays: 2 })).toMatchObject({
      dropped: ["job_history_20200101"],
    });
    expect(await places()).toEqual(kept);
    const findings = await runDoctor(owner, { rolePrefix: server.rolePrefix });
    expect(findings.filter(({ rule }) => rule !== "0032_server_version")).toEqual([]);
  });

  it("waits for whoever reads it in short tries, so that jobs go on ending meanwhile", async () => {
    await owner.query(
      "create table rowhouse.job_history_20200102 partition of rowhouse.job_history for values from ('2020-01-02 00:00+00') to ('2020-01-03 00:00+00')",
    );
    const reader = await server.connectAsOwner();
    await reader.query("begin; select from rowhouse.job_history");
    const maintaining = maintainJobHistory(owner, { keepDays: 2 });
    await using other = await server.connectAsOwner();
    for (let n = 0; n < 5; n += 1) {
      await other.query("set lock_timeout = '5s'");
      await other.query(
        `insert into rowhouse.job_history (tenant_id, id, type, queue, attempts, outcome, created_at)
         values (gen_random_uuid(), gen_random_uuid(), 't', 'q', 1, 'done', now())`,
      );
    }
    await reader.query("commit");
    expect((await maintaining).dropped).toEqual(["job_history_20200102"]);
    await reader.end();
  });

  it("refuses days that make no sense", async () => {
    await expect(maintainJobHistory(owner, { keepDays: 0 })).rejects.toMatchObject({
      code: "ERR_JOB_INVALID",
      message: "keepDays is 0: it must be a whole number of days from 1 to 3650.",
    });
  });
});
