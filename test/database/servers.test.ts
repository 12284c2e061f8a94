import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { openServers } from "../../src/database/servers.ts";
import { connectSql } from "../../src/database/sql-connection.ts";
import { initDatabase } from "../../src/migrations/init-database.ts";
import { migrate } from "../../src/migrations/migrate.ts";

const directory = path.join(tmpdir(), `rowhouse-servers-${randomBytes(6).toString("hex")}`);

afterAll(() => rm(directory, { recursive: true, force: true }));

async function whoAmI(url: string): Promise<Record<string, unknown>> {
  await using connection = await connectSql(url, "test");
  const { rows } = await connection.query("select current_user as role, current_database() as database");
  return rows[0]!;
}

test("given URLs are used as they are, and nothing is started", async () => {
  const config = readConfig({
    DATABASE_URL: "postgres://acme_app@nowhere.invalid/acme",
    OWNER_DATABASE_URL: "postgres://acme_owner@nowhere.invalid/acme",
    ROWHOUSE_DATA_DIR: path.join(directory, "unused"),
  });
  await using servers = await openServers(config);
  expect(servers.urls).toBe(config.urls);
  expect(servers.embedded).toBeUndefined();
});

test("with none, each role of the embedded PostgreSQL has its URL, and the database comes to be without a superuser", async () => {
  const config = readConfig({ ROWHOUSE_DATA_DIR: directory, ROWHOUSE_ROLE_PREFIX: "acme" });
  {
    await using servers = await openServers(config);
    expect(servers.embedded?.directory).toBe(directory);
    const { urls, embedded } = servers;
    const init = { adminUrl: urls.admin!, rolePrefix: "acme", passwords: embedded!.passwords };
    await initDatabase(init);
    await migrate({ ownerUrl: urls.owner!, rolePrefix: "acme", folders: [] });
    expect(await whoAmI(urls.admin!)).toEqual({ role: "acme_admin", database: "rowhouse" });
    expect(await whoAmI(urls.owner!)).toEqual({ role: "acme_owner", database: "rowhouse" });
    expect(await whoAmI(urls.app)).toEqual({ role: "acme_app", database: "rowhouse" });
    expect(await whoAmI(urls.worker!)).toEqual({ role: "acme_worker", database: "rowhouse" });
    expect(urls.direct).toBe(urls.app);
  }
  // The roles' passwords are kept, so the next run gets in without setting them again.
  await using again = await openServers(config);
  expect(await whoAmI(again.urls.app)).toEqual({ role: "acme_app", database: "rowhouse" });
});
