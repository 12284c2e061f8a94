import { randomBytes } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { serverErrorOf } from "../../src/database/server-error.ts";
import { connectSql, type SqlConnection } from "../../src/database/sql-connection.ts";
import { initDatabase } from "../../src/migrations/init-database.ts";
import { urlAt, type TestCluster } from "./test-cluster.ts";

type Query = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: readonly unknown[],
) => Promise<{ rows: Row[]; rowCount: number }>;

interface NewTenant {
  /** @defaultValue one that no other has */
  readonly slug?: string;
  /** @defaultValue the slug */
  readonly name?: string;
}

/** A migrated database of one test file's own. Its roles are shared by all files of the run. */
export interface TestDatabase extends AsyncDisposable {
  readonly name: string;
  readonly rolePrefix: string;
  readonly appUrl: string;
  readonly ownerUrl: string;
  readonly workerUrl: string;
  /** The test server's administrator, as a rule a superuser. */
  readonly adminUrl: string;
  /** `<prefix>_admin`, who owns the database and made the roles, and is no superuser. */
  readonly provisionerUrl: string;
  /** Runs one statement on a connection of its own. */
  readonly asOwner: Query;
  readonly asAdmin: Query;
  /** Past the framework: without a tenant, unless the statement sets one. */
  readonly asApp: Query;
  /** A connection that ends with `drop()` at the latest. */
  connectAsOwner(): Promise<SqlConnection>;
  connectAsApp(): Promise<SqlConnection>;
  createTenant(tenant?: NewTenant): Promise<{ id: string; slug: string; name: string }>;
  drop(): Promise<void>;
}

/** The migrations that the template has already: a schema of a tenant's own gets them too. */
export const templateMigrations = { source: "test", path: path.join(import.meta.dirname, "../fixtures/migrations") };

/** Clones the run's template (test/global-setup.ts), which holds the tables of test/fixtures/migrations. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const cluster = inject("testCluster");
  const name = `${cluster.rolePrefix}_${randomBytes(4).toString("hex")}`;
  await cloneTemplate(cluster, name);
  const [ownerUrl, appUrl] = [urlAt(cluster, name, "owner"), urlAt(cluster, name, "app")];
  const asOwner = asUrl(ownerUrl);
  const drop = async () => {
    await asUrl(cluster.adminUrl)(`drop database if exists ${name} with (force)`);
  };
  return {
    name,
    rolePrefix: cluster.rolePrefix,
    appUrl,
    ownerUrl,
    workerUrl: urlAt(cluster, name, "worker"),
    adminUrl: urlAt(cluster, name, "admin"),
    provisionerUrl: urlAt(cluster, name, "provisioner"),
    asOwner,
    asAdmin: asUrl(urlAt(cluster, name, "admin")),
    asApp: asUrl(appUrl),
    connectAsOwner: () => connectSql(ownerUrl, "test"),
    connectAsApp: () => connectSql(appUrl, "test"),
    async createTenant({ slug = `t-${randomBytes(6).toString("hex")}`, name: label = slug } = {}) {
      const { rows } = await asOwner<{ id: string }>(
        "insert into rowhouse.tenants (slug, name) values ($1, $2) returning id",
        [slug, label],
      );
      return { id: rows[0]!.id, slug, name: label };
    },
    drop,
    [Symbol.asyncDispose]: drop,
  };
}

function asUrl(url: string): Query {
  return async (text, values) => {
    await using connection = await connectSql(url, "test");
    return await connection.query(text, values);
  };
}

const OBJECT_IN_USE = "55006";

async function cloneTemplate(cluster: TestCluster, name: string): Promise<void> {
  const asProvisioner = asUrl(cluster.provisionerUrl);
  for (let tries = 1; ; tries += 1) {
    try {
      await asProvisioner(`create database ${name} template ${cluster.template}`);
      break;
    } catch (error) {
      // Whoever was connected to the template, if only a moment ago: it cannot be cloned meanwhile.
      if (serverErrorOf(error)?.code !== OBJECT_IN_USE || tries === 20) throw error;
      await sleep(100);
    }
  }
  // A database's own grants and settings are not cloned with it.
  const { provisionerUrl: adminUrl, rolePrefix } = cluster;
  await initDatabase({ adminUrl, database: name, rolePrefix });
}
