import { requireUrl } from "../config.ts";
import type { Servers } from "../database/servers.ts";
import { initDatabase } from "../migrations/init-database.ts";
import { migrate, type MigrationReport } from "../migrations/migrate.ts";
import type { MigrationFolder } from "../migrations/migration-files.ts";

export interface PrepareOptions {
  readonly rolePrefix: string;
  readonly folders: readonly MigrationFolder[];
}

/**
 * Brings a database to where an application can serve: on the embedded PostgreSQL its roles and grants, then, on any,
 * the migrations. Of given servers the roles are the administrator's to make, with `rowhouse init-database`.
 */
export async function prepareDatabase(
  servers: Servers,
  { rolePrefix, folders }: PrepareOptions,
): Promise<MigrationReport> {
  const { urls, embedded } = servers;
  if (embedded && urls.admin !== undefined) {
    await initDatabase({ adminUrl: urls.admin, rolePrefix, passwords: embedded.passwords });
  }
  return migrate({ ownerUrl: requireUrl(urls, "owner"), rolePrefix, folders });
}
