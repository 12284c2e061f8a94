import { serverErrorOf } from "../database/server-error.ts";
import { tenantSchema } from "../database/role-names.ts";
import type { Database, TenantRef } from "../database/types.ts";
import { SchemaOutdated } from "../errors.ts";
import { frameworkMigrations, readMigrations, type MigrationFolder } from "./migration-files.ts";

/**
 * What this code expects of a database: ids of the migrations of the shared schema, the framework's among them, and of a
 * dedicated schema, which gets the application's only.
 * @throws MigrationInvalid when a folder cannot be read
 */
export async function expectedSchema(folders: readonly MigrationFolder[]) {
  const dedicated = (await Promise.all(folders.map(readMigrations))).flat().map(({ id }) => id);
  return { shared: [...frameworkMigrations().map(({ id }) => id), ...dedicated], dedicated };
}

/**
 * Asks, as the application's role, whether all of these migrations are applied. More may be: during a roll-out an older
 * release goes on serving on a newer schema.
 *
 * @param expected from {@link expectedSchema}
 * @param target `shared`, or the name of a dedicated schema
 * @throws SchemaOutdated naming the missing ones
 */
export async function assertSchemaCurrent(
  database: Pick<Database, "lookup">,
  expected: readonly string[],
  target = "shared",
): Promise<void> {
  const missing = await missingMigrations(database, expected, target);
  if (missing.length === 0) return;
  const which = target === "shared" ? "The database's schema" : `The tenant's schema ${target}`;
  throw new SchemaOutdated(
    `${which} is older than this code: ${missing.join(", ")} not applied. Run \`rowhouse migrate\`.`,
  );
}

/**
 * Makes the check that a tenant passes before its transaction begins: the place where it lives must be at the code's
 * version. A place that is, is not asked about again, since migrations only go forward.
 *
 * @param expected ids of all migrations, and of those that dedicated schemas get
 * @returns a function that rejects with SchemaOutdated, or has nothing to wait for
 */
export function createTargetCheck(
  database: () => Pick<Database, "lookup">,
  expected: { readonly shared: readonly string[]; readonly dedicated: readonly string[] },
): (tenant: TenantRef) => Promise<void> | undefined {
  const current = new Set<string>();
  return function assertTargetCurrent({ id, placement }) {
    const target = placement === "schema" ? tenantSchema(id) : "shared";
    if (current.has(target)) return undefined;
    const ids = placement === "schema" ? expected.dedicated : expected.shared;
    return assertSchemaCurrent(database(), ids, target).then(() => void current.add(target));
  };
}

async function missingMigrations(database: Pick<Database, "lookup">, expected: readonly string[], target: string) {
  try {
    const row = await database.lookup<{ missing: string[] | null }>("missing_migrations", [expected, target]);
    return row?.missing ?? [];
  } catch (error) {
    // No such function, no such schema, or no right to use it yet: nothing was ever migrated.
    if (["42883", "3F000", "42501"].includes(serverErrorOf(error)?.code ?? "")) return expected;
    throw error;
  }
}
