import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { openServers } from "../src/database/servers.ts";
import { connectSql } from "../src/database/sql-connection.ts";
import { initDatabase } from "../src/migrations/init-database.ts";
import { migrate } from "../src/migrations/migrate.ts";

const TENANTS = 100;
const ROWS_PER_TENANT = 1_000;

export interface BenchServer extends AsyncDisposable {
  readonly appUrl: string;
  readonly ownerUrl: string;
  readonly adminUrl: string;
  readonly workerUrl: string;
}

export interface BenchDatabase extends BenchServer {
  /** The tenants that requests are made for, each with some of its rows' ids. */
  readonly tenants: readonly { readonly id: string; readonly rows: readonly string[] }[];
}

/** A PostgreSQL of the benchmark's own, with the server's usual settings and the roles. */
export async function openBenchServer(): Promise<BenchServer> {
  const directory = path.join(tmpdir(), `rowhouse-bench-${randomBytes(6).toString("hex")}`);
  const servers = await openServers({ urls: undefined, dataDirectory: directory, rolePrefix: "rowhouse" });
  const { admin, owner, app } = servers.urls;
  if (!admin || !servers.embedded) throw new Error("the benchmark runs on an embedded server");
  await initDatabase({ adminUrl: admin, rolePrefix: "rowhouse", passwords: servers.embedded.passwords });
  return {
    appUrl: app,
    ownerUrl: owner,
    adminUrl: admin,
    workerUrl: servers.urls.worker!,
    async [Symbol.asyncDispose]() {
      await servers.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * The same rows in three tables: `public.notes` is Rowhouse's tenant table, `tutorial.notes` has the policy that tutorials
 * show, `plain.notes` has no row-level security.
 */
export async function openBenchDatabase(): Promise<BenchDatabase> {
  const server = await openBenchServer();
  const folder = { source: "bench", path: path.join(import.meta.dirname, "migrations/http") };
  await migrate({ ownerUrl: server.ownerUrl, rolePrefix: "rowhouse", folders: [folder] });
  return { ...server, tenants: await fill(server.ownerUrl) };
}

async function fill(ownerUrl: string): Promise<BenchDatabase["tenants"]> {
  await using sql = await connectSql(ownerUrl, "bench");
  await sql.query(
    "insert into rowhouse.tenants (slug, name) select 'tenant-' || n, 'Tenant ' || n from generate_series(1, $1) n",
    [TENANTS],
  );
  await sql.query(
    `insert into public.notes (tenant_id, body)
     select t.id, 'note ' || n from rowhouse.tenants t, generate_series(1, $1) n`,
    [ROWS_PER_TENANT],
  );
  for (const copy of ["tutorial", "plain"]) await sql.query(`insert into ${copy}.notes select * from public.notes`);
  await sql.query("vacuum analyze public.notes, tutorial.notes, plain.notes");
  const { rows } = await sql.query<{ id: string; rows: string[] }>(
    `select t.id, (select array_agg(n.id) from (select id from public.notes where tenant_id = t.id limit 50) n) as rows
     from rowhouse.tenants t`,
  );
  return rows;
}
