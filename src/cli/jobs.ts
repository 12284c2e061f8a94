import { type Command, InvalidArgumentError, Option } from "commander";
import type { SqlConnection } from "../database/sql-connection.ts";
import { maintainJobHistory } from "../jobs/job-history.ts";
import {
  cancelJobs,
  controlJobs,
  type DeadJobs,
  discardDeadJobs,
  type JobFilter,
  type JobState,
  jobStats,
  listJobs,
  retryDeadJobs,
  showJob,
} from "../jobs/operate-jobs.ts";
import { JobInvalid } from "../errors.ts";
import { findTenant } from "../lifecycle/tenants.ts";
import { print, table } from "./output.ts";
import { withOwner } from "./with-servers.ts";

interface Flags {
  readonly tenant?: string;
  readonly queue?: string;
  readonly type?: string;
  readonly json?: boolean;
}

const withFilter = (command: Command): Command =>
  command
    .option("--tenant <tenant>", "of this tenant: slug or id")
    .option("--queue <queue>", "of this queue")
    .option("--type <type>", "of this type");

async function filterOf(owner: SqlConnection, { tenant, queue, type }: Flags): Promise<JobFilter> {
  return { tenantId: tenant === undefined ? undefined : (await findTenant(owner, tenant)).id, queue, type };
}

export function addJobs(program: Command): void {
  const jobs = program.command("jobs").description("look at the job queue, and put it right");
  addLooking(jobs);
  addEnding(jobs);
  addControls(jobs);
  jobs
    .command("maintain")
    .description(
      "make the history's partitions for the days to come, and drop what is older than is to be kept; for every night",
    )
    .option("--keep <days>", "whole days to keep", toCount, 14)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse jobs maintain --keep 30")
    .action(({ keep, json }: { keep: number; json?: boolean }) =>
      withOwner(async (owner) => {
        const report = await maintainJobHistory(owner, { keepDays: keep });
        print(report, json, () => `made ${report.made.length} partitions, dropped ${report.dropped.length}`);
      }),
    );
}

function addLooking(jobs: Command): void {
  jobs
    .command("stats")
    .description("how many jobs are ready, wait, run and are dead, and how the last hour went, by queue and type")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse jobs stats")
    .action(({ json }: Flags) =>
      withOwner(async (owner) => {
        const stats = await jobStats(owner);
        const titles = [
          "QUEUE",
          "TYPE",
          "READY",
          "WAITING",
          "RUNNING",
          "DEAD",
          "OLDEST s",
          "DONE 1h",
          "P95 RUN s",
          "P95 WAIT s",
        ];
        const seconds = (value: number | null) => value?.toFixed(2);
        print(stats, json, () =>
          table(
            titles,
            stats.map((row) => [
              ...[row.queue, row.type, row.ready, row.waiting, row.running, row.dead, seconds(row.oldestReady)],
              ...[row.doneLastHour, seconds(row.p95Run), seconds(row.p95Wait)],
            ]),
          ),
        );
      }),
    );

  addList(jobs.command("list"), "jobs that have not ended, and dead ones, the oldest first").addOption(
    new Option("--state <state>", "in this state").choices(["ready", "waiting", "running", "dead"]),
  );
  addList(jobs.command("dead"), "dead jobs, with why they failed last", "dead");

  jobs
    .command("show")
    .description("all that is known of a job")
    .argument("<id>", "the job's id", toUuid)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse jobs show 0199f1c2-7a3b-7c1d-9e2f-3a4b5c6d7e8f")
    .action((id: string) => withOwner(async (owner) => print(await showJob(owner, id), true, () => "")));
}

function addList(command: Command, description: string, always?: JobState): Command {
  return withFilter(command)
    .description(description)
    .option("--limit <n>", "how many at the most", toCount, 100)
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  rowhouse jobs ${command.name()} --tenant acme`)
    .action((flags: Flags & { state?: JobState; limit: number }) =>
      withOwner(async (owner) => {
        const filter = { ...(await filterOf(owner, flags)), state: always ?? flags.state };
        const list = await listJobs(owner, filter, flags.limit);
        print(list, flags.json, () =>
          table(
            ["ID", "TENANT", "QUEUE", "TYPE", "STATE", "ATTEMPTS", "RUN AT", "FAILURE"],
            list.map((job) => [
              ...[job.id, job.tenant, job.queue, job.type, job.state, `${job.attempts}/${job.maxAttempts}`, job.runAt],
              job.failure?.split("\n", 1)[0]?.slice(0, 80),
            ]),
          ),
        );
      }),
    );
}

function addEnding(jobs: Command): void {
  for (const [name, work, description] of [
    ["retry", retryDeadJobs, "bring dead jobs back, with all their attempts before them"],
    ["discard", discardDeadJobs, "remove dead jobs for good"],
  ] as const) {
    withFilter(jobs.command(name))
      .description(description)
      .argument("[ids...]", "these", toUuids)
      .option("--all", "all, or all that fit --tenant, --queue and --type")
      .option("--json", "print JSON")
      .addHelpText("after", `\nExample:\n  rowhouse jobs ${name} --all --type orders.send-receipt`)
      .action((ids: string[] | undefined, { all, json, ...flags }: Flags & { all?: boolean }) =>
        withOwner(async (owner) => {
          const done = await work(owner, await deadJobsOf(owner, ids ?? [], all ?? false, flags));
          print(done, json, () => `${done.length} jobs`);
        }),
      );
  }
  jobs
    .command("cancel")
    .description("cancel jobs that have not ended; one that runs is rolled back")
    .argument("<ids...>", "which", toUuids)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  rowhouse jobs cancel 0199f1c2-7a3b-7c1d-9e2f-3a4b5c6d7e8f")
    .action((ids: string[], { json }: Flags) =>
      withOwner(async (owner) => {
        const done = await cancelJobs(owner, ids);
        print(done, json, () => `${done.length} jobs`);
      }),
    );
}

/** Everything at once has to be asked for: ids that were forgotten must not mean all. */
async function deadJobsOf(owner: SqlConnection, ids: readonly string[], all: boolean, flags: Flags): Promise<DeadJobs> {
  if (all === ids.length > 0)
    throw new JobInvalid("Name the jobs, or give --all (with --tenant, --queue or --type to narrow it).");
  return all ? filterOf(owner, flags) : { ids };
}

function addControls(jobs: Command): void {
  for (const [name, isPaused, description] of [
    ["pause", true, "claim no more jobs of a queue, a tenant or a type; those that run go on"],
    ["resume", false, "claim them again"],
  ] as const) {
    withFilter(jobs.command(name))
      .description(description)
      .addHelpText("after", `\nExample:\n  rowhouse jobs ${name} --tenant acme --queue mail`)
      .action((flags: Flags) =>
        withOwner(async (owner) => {
          const filter = await filterOf(owner, flags);
          if (Object.values(filter).every((value) => value === undefined)) {
            throw new JobInvalid(`Say what to ${name}: --queue, --tenant or --type, or some of them.`);
          }
          await controlJobs(owner, filter, { isPaused });
          console.log(`${isPaused ? "paused" : "resumed"}; workers notice within seconds`);
        }),
      );
  }
  withFilter(jobs.command("limit"))
    .description('limit how many jobs run at the same time, over all workers; "none" lifts a limit')
    .option("--running <n>", "together", toLimit)
    .option("--per-tenant <n>", "of each tenant", toLimit)
    .option("--weight <n>", "turns of the tenant for another's one", toLimit)
    .addHelpText("after", "\nExample:\n  rowhouse jobs limit --queue mail --running 20 --per-tenant 2")
    .action(
      ({
        running,
        perTenant,
        weight,
        ...flags
      }: Flags & Record<"running" | "perTenant" | "weight", Limit | undefined>) =>
        withOwner(async (owner) => {
          const limits = {
            ...(running === undefined ? {} : { maxRunning: orNull(running) }),
            ...(perTenant === undefined ? {} : { maxRunningPerTenant: orNull(perTenant) }),
            ...(weight === undefined ? {} : { weight: orNull(weight) }),
          };
          if (Object.keys(limits).length === 0)
            throw new JobInvalid("Say which limit: --running, --per-tenant or --weight.");
          await controlJobs(owner, await filterOf(owner, flags), limits);
          console.log("done; workers notice within seconds");
        }),
    );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function toUuid(text: string): string {
  if (UUID.test(text)) return text;
  throw new InvalidArgumentError("It must be a job's id, a UUID.");
}

const toUuids = (text: string, before: string[] = []): string[] => [...before, toUuid(text)];

function toCount(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 99999.");
}

const orNull = (limit: Limit): number | null => (limit === "none" ? null : limit);

/** commander makes an empty string of null. */
type Limit = number | "none";

function toLimit(text: string): Limit {
  if (text === "none") return text;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number, or "none".');
}
