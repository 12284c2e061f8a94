import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigInvalid } from "../errors.ts";
import type { Feature } from "../http/feature.ts";
import type { MigrationFolder } from "../migrations/migration-files.ts";

/** What a module says of the application. */
export interface App {
  readonly features: readonly Feature[];
  readonly migrations: readonly MigrationFolder[];
}

/**
 * Loads the application's module.
 * @throws ConfigInvalid when it cannot be loaded or exports no `features`
 */
export async function loadApp(file: string): Promise<App> {
  const module = (await import(pathToFileURL(resolve(file)).href).catch((cause: unknown) => {
    throw new ConfigInvalid(`The module ${file} cannot be loaded.`, { cause });
  })) as { features?: unknown; migrations?: unknown };
  if (!Array.isArray(module.features)) {
    throw new ConfigInvalid(
      `The module ${file} exports no list \`features\`: export what you give to createRowhouse().`,
    );
  }
  const migrations = Array.isArray(module.migrations) ? (module.migrations as readonly MigrationFolder[]) : [];
  return { features: module.features as readonly Feature[], migrations };
}
