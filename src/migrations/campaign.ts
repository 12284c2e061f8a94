import type { SqlConnection } from "../database/sql-connection.ts";
import { MigrationFailed } from "../errors.ts";
import { type DedicatedOptions, dedicatedWork, type DedicatedWork, migrateSchema } from "./migrate-dedicated.ts";

/** What became of one dedicated schema. */
export interface TargetReport {
  /** The schema's name. */
  readonly target: string;
  /** Ids of the migrations that this run applied there, in order. */
  readonly applied: readonly string[];
}

export interface CampaignOptions extends DedicatedOptions {
  /** Schemas at work at the same time; each takes two connections. */
  readonly parallel: number;
  /** Go on with the other schemas when one fails. Otherwise no further one is begun. */
  readonly keepGoing: boolean;
  /** Only the schemas that have failed before, or only those that have not. */
  readonly only?: Only | undefined;
}

/** `failed`: schemas whose last attempt has failed. `untried`: the others. */
export type Only = "failed" | "untried";

/**
 * Brings every dedicated schema to what the code expects, several at a time. A schema that is made meanwhile is included.
 * Each keeps its own account in the ledger, so that the next run goes on with what is left.
 *
 * @throws MigrationFailed naming the schemas that failed, when all that were begun have ended
 */
export async function migrateDedicated(connection: SqlConnection, options: CampaignOptions): Promise<TargetReport[]> {
  const reports: TargetReport[] = [];
  const failures = new Map<string, unknown>();
  const seen = new Set<string>();
  const mayGoOn = () => options.keepGoing || failures.size === 0;

  async function worker(queue: DedicatedWork[]): Promise<void> {
    for (let work = queue.shift(); work && mayGoOn(); work = queue.shift()) {
      try {
        reports.push({ target: work.target, applied: await migrateSchema(work.tenant, options) });
      } catch (error) {
        failures.set(work.target, error);
      }
    }
  }

  while (mayGoOn()) {
    const queue = (await dedicatedWork(connection, options)).filter(
      ({ target, hasFailed }) => !seen.has(target) && isWanted(hasFailed, options.only),
    );
    if (queue.length === 0) break;
    for (const { target } of queue) seen.add(target);
    await Promise.all(Array.from({ length: options.parallel }, () => worker(queue)));
  }
  if (failures.size > 0) throw campaignFailed(failures, reports, await dedicatedWork(connection, options));
  return reports.sort((left, right) => (left.target < right.target ? -1 : 1));
}

const isWanted = (hasFailed: boolean, only: Only | undefined): boolean =>
  only === undefined || hasFailed === (only === "failed");

function campaignFailed(
  failures: ReadonlyMap<string, unknown>,
  reports: readonly TargetReport[],
  left: readonly DedicatedWork[],
): MigrationFailed {
  const [[target, cause] = ["", undefined]] = failures;
  const others = [...failures.keys()].slice(1);
  const message = cause instanceof Error ? cause.message : String(cause);
  return new MigrationFailed(
    `${failures.size} of the dedicated schemas failed, ${reports.length} are done, ${left.length} are not at this version. ` +
      `${target}: ${message}${others.length > 0 ? `\nAlso failed: ${others.join(", ")}.` : ""}\n` +
      "`rowhouse migrations status` shows each. Correct the cause and run `rowhouse migrate` again: what is applied stays applied.",
    { cause },
  );
}
