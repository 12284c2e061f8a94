import { readConfig, requireUrl, type Config } from "../config.ts";
import { openServers, type Servers } from "../database/servers.ts";
import { connectSql, type SqlConnection } from "../database/sql-connection.ts";
import { prepareDatabase } from "../lifecycle/prepare-database.ts";

export interface CommandContext {
  readonly config: Config;
  readonly servers: Servers;
}

/**
 * Runs a command with the configured servers, or with the project's embedded PostgreSQL, which is started (or joined, where
 * the application runs already) for as long as the command takes.
 */
export async function withServers<Result>(work: (context: CommandContext) => Promise<Result>): Promise<Result> {
  const config = readConfig();
  await using servers = await openServers(config);
  // A project's first command may come before its application ever ran.
  if (servers.embedded) await prepareDatabase(servers, { rolePrefix: config.rolePrefix, folders: [] });
  return await work({ config, servers });
}

/** The same, with a connection as the owner role. */
export function withOwner<Result>(
  work: (owner: SqlConnection, context: CommandContext) => Promise<Result>,
): Promise<Result> {
  return withServers(async (context) => {
    await using owner = await connectSql(requireUrl(context.servers.urls, "owner"), "rowhouse cli");
    return await work(owner, context);
  });
}
