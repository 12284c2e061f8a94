import type { Config, ServerUrls } from "../config.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded.ts";
import { roleName } from "./role-names.ts";

/** The PostgreSQL that the application works with, its own or a given one. */
export interface Servers extends AsyncDisposable {
  readonly urls: ServerUrls;
  /** Set for the embedded PostgreSQL: where its data is, and what `initDatabase` is to give its roles. */
  readonly embedded: Pick<EmbeddedPostgres, "directory" | "port" | "passwords"> | undefined;
  /** Leaves the embedded PostgreSQL; of given servers there is nothing to stop. */
  stop(): Promise<void>;
}

/** The application's database in the embedded PostgreSQL. `initDatabase` makes it. */
const DATABASE = "rowhouse";

/**
 * Finds the servers: those of the configuration's URLs, or with none an embedded PostgreSQL, which is started. The
 * database and its roles are made by `initDatabase`, its tables by `migrate`.
 *
 * @throws EmbeddedPostgresFailed
 */
export async function openServers(config: Pick<Config, "urls" | "dataDirectory" | "rolePrefix">): Promise<Servers> {
  const { urls, dataDirectory, rolePrefix } = config;
  if (urls !== undefined) {
    const stop = () => Promise.resolve();
    return { urls, embedded: undefined, stop, [Symbol.asyncDispose]: stop };
  }
  const embedded = await startEmbeddedPostgres({ directory: dataDirectory, rolePrefix });
  const urlOf = (role: "owner" | "app" | "worker") => {
    const url = new URL(embedded.urls.admin);
    Object.assign(url, { username: roleName(rolePrefix, role), password: embedded.passwords[role] });
    url.pathname = `/${DATABASE}`;
    return url.href;
  };
  const admin = new URL(embedded.urls.admin);
  admin.pathname = `/${DATABASE}`;
  const app = urlOf("app");
  const stop = () => embedded.stop();
  return {
    urls: { app, owner: urlOf("owner"), worker: urlOf("worker"), admin: admin.href, direct: app },
    embedded,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
