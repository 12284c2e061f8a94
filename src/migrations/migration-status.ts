import { serverErrorOf } from "../database/server-error.ts";
import type { SqlConnection } from "../database/sql-connection.ts";
import { sql } from "../generated/sql.ts";
import { frameworkMigrations, readMigrations, type MigrationFolder } from "./migration-files.ts";

/** How far one target is. */
export interface TargetStatus {
  /** `shared`, or the name of a dedicated schema. */
  readonly target: string;
  /** `failed`: the last attempt there has failed. `behind`: migrations are pending. */
  readonly state: "current" | "behind" | "failed";
  /** Ids of the migrations that are not applied there, in order. */
  readonly pending: readonly string[];
  readonly failedMigration: string | null;
  readonly error: string | null;
  /** How often the failed one was tried. */
  readonly attempts: number | null;
  readonly lastAppliedAt: Date | null;
}

/**
 * Says of every target how far it is.
 * @param owner a connection as the owner role
 * @throws MigrationInvalid when a folder cannot be read
 */
export async function migrationStatus(
  owner: SqlConnection,
  folders: readonly MigrationFolder[],
): Promise<readonly TargetStatus[]> {
  const own = (await Promise.all(folders.map(readMigrations))).flat().map(({ id }) => id);
  const all = [...frameworkMigrations().map(({ id }) => id), ...own];
  try {
    return (await owner.query<TargetStatus>(sql["db/queries/migration_status.sql"], [all, own])).rows;
  } catch (error) {
    // No ledger: nothing was ever migrated.
    if (serverErrorOf(error)?.code !== "42P01" && serverErrorOf(error)?.code !== "3F000") throw error;
    const nothing = { failedMigration: null, error: null, attempts: null, lastAppliedAt: null };
    return [{ target: "shared", state: "behind", pending: all, ...nothing }];
  }
}
