import { serverErrorOf } from "../database/server-error.ts";
import type { Database } from "../database/types.ts";
import { SchemaOutdated } from "../errors.ts";
import { frameworkMigrations, readMigrations, type MigrationFolder } from "./migration-files.ts";

/**
 * What this code expects of a database: the ids of the framework's migrations and of those in the application's folders.
 * @throws MigrationInvalid when a folder cannot be read
 */
export async function expectedSchema(folders: readonly MigrationFolder[]): Promise<string[]> {
  const migrations = [...frameworkMigrations(), ...(await Promise.all(folders.map(readMigrations))).flat()];
  return migrations.map((migration) => migration.id);
}

/**
 * Asks, as the application's role, whether all of these migrations are applied. More may be: during a roll-out an older
 * release goes on serving on a newer schema.
 *
 * @param expected from {@link expectedSchema}
 * @throws SchemaOutdated naming the missing ones
 */
export async function assertSchemaCurrent(
  database: Pick<Database, "lookup">,
  expected: readonly string[],
): Promise<void> {
  const missing = await missingMigrations(database, expected);
  if (missing.length === 0) return;
  throw new SchemaOutdated(
    `The database's schema is older than this code: ${missing.join(", ")} not applied. Run \`rowhouse migrate\`.`,
  );
}

async function missingMigrations(database: Pick<Database, "lookup">, expected: readonly string[]) {
  try {
    const row = await database.lookup<{ missing: string[] | null }>("missing_migrations", [expected, "shared"]);
    return row?.missing ?? [];
  } catch (error) {
    // No such function, no such schema, or no right to use it yet: nothing was ever migrated.
    if (["42883", "3F000", "42501"].includes(serverErrorOf(error)?.code ?? "")) return expected;
    throw error;
  }
}
