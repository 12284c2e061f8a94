import type { Logger } from "pino";
import { createKeyUsage } from "./auth/key-usage.ts";
import type { Config } from "./config.ts";
import { createDatabase } from "./database/database.ts";
import type { Database, TenantDb } from "./database/types.ts";
import { TenantRequired } from "./errors.ts";
import { type Application, createApp, type Middleware } from "./http/app.ts";
import type { Feature } from "./http/feature.ts";
import type { ApiInfo } from "./http/openapi.ts";
import { createJobNotifier, JOB_CHANNEL } from "./jobs/job-notifier.ts";
import { type JobWorker, type JobWorkerOptions, startJobWorker } from "./jobs/job-worker.ts";
import { createLogger } from "./http/request-log.ts";
import type { RouteDefinition } from "./http/route-types.ts";
import { listen, type RunningServer } from "./http/server.ts";
import { tenant as tenantMiddleware } from "./http/tenant.ts";
import type { MigrationFolder } from "./migrations/migration-files.ts";
import { assertSchemaCurrent, createTargetCheck, expectedSchema } from "./migrations/schema-state.ts";
import { describeTable } from "./tables/describe-table.ts";
import { createTenantContext, type TenantContext } from "./tenancy/context.ts";
import { createRegistry } from "./tenancy/registry.ts";
import type { TenantResolver } from "./tenancy/resolver.ts";
import { createTenantResolution } from "./tenancy/resolve-tenant.ts";
import type { Tenant } from "./tenancy/tenant.ts";
import { createWithTenant, type WithTenant } from "./tenancy/with-tenant.ts";

export interface RowhouseOptions {
  /** The app role's connection URL. */
  readonly url: string;
  /** Who the tenant of a request is; all that apply have to agree. */
  readonly resolvers: readonly TenantResolver[];
  readonly features?: readonly Feature[];
  /** The application's migrations: `/readyz` answers 503 until they are applied. */
  readonly migrations?: readonly MigrationFolder[];
  /** @defaultValue 10 connections */
  readonly poolSize?: number;
  /** Transactions one tenant may hold at once in this process. @defaultValue half of `poolSize` */
  readonly tenantLimit?: number;
  /** False behind a pooler that does not keep prepared statements apart. @defaultValue true */
  readonly preparedStatements?: boolean;
  /** Whose `X-Forwarded-…` headers are believed. @defaultValue false, nobody's */
  readonly trustProxy?: Config["trustProxy"];
  /** A pino logger, or the level of a new one. @defaultValue "info" */
  readonly log?: Logger | Config["logLevel"];
  /** Title and version of the OpenAPI document. */
  readonly info?: ApiInfo;
}

/** One Rowhouse instance: nothing of it is global. */
export interface Rowhouse extends AsyncDisposable {
  /** The whole application: features, health, OpenAPI, errors. */
  readonly app: Application;
  /** The routes of all features, for probes and documents. */
  readonly routes: readonly RouteDefinition[];
  readonly features: readonly Feature[];
  readonly log: Logger;
  /** The middleware for an Express application of your own: below it, `db()` and `withTenant()` know the tenant. */
  tenant(): Middleware;
  /** The one door to a tenant's rows outside a request. */
  readonly withTenant: WithTenant;
  /** @throws TenantRequired where no tenant is set */
  currentTenant(): Tenant;
  tryCurrentTenant(): Tenant | undefined;
  /** The current transaction, for handlers of an Express application of your own. @throws TenantRequired where there is none */
  db(): TenantDb;
  /** Runs the hook once the current transaction has been committed. @throws TenantRequired where there is none */
  afterCommit(hook: () => void | Promise<void>): void;
  /** Ties a callback to the tenant of now, for libraries that lose the async context. */
  bind: TenantContext["bind"];
  /** Drops what this process remembers of a tenant, after it was changed. */
  forgetTenant(tenantId: string): void;
  /** Resolves when the database answers and its schema is the one this code expects. @throws SchemaOutdated */
  ready(): Promise<void>;
  /**
   * Starts a worker in this process, for the jobs of all features; it stops with `close()` at the latest.
   * @throws DefinitionInvalid when two jobs have the same name
   */
  work(options: JobWorkerOptions): JobWorker;
  /** Serves `app`. */
  listen(options: { port: number; host?: string }): Promise<RunningServer>;
  /** Stops the server after what is in flight, then closes the connections. */
  close(): Promise<void>;
}

/**
 * Makes an instance, and refuses to if the database role could walk past row-level security.
 *
 * @throws UnsafeRole when DATABASE_URL's role is superuser, owner or the like
 * @throws DatabaseUnavailable when the database does not answer
 */
export async function createRowhouse(options: RowhouseOptions): Promise<Rowhouse> {
  const { url, resolvers, features = [], migrations = [], poolSize = 10, preparedStatements = true } = options;
  const { tenantLimit = Math.max(1, Math.floor(poolSize / 2)), trustProxy = false } = options;
  const log = typeof options.log === "object" ? options.log : createLogger(options.log ?? "info");
  const onError = (error: unknown) => log.error({ err: error }, "in the background");

  // Drizzle builds tables lazily: a mistake in one should stop the process, not the first request.
  for (const feature of features) Object.values(feature.tables).forEach(describeTable);

  const expected = await expectedSchema(migrations);
  const database: Database = createDatabase({
    url,
    poolSize,
    tenantLimit,
    preparedStatements,
    applicationName: "rowhouse",
    admit: createTargetCheck(() => database, expected),
    onEnqueued: createJobNotifier({
      notify: () => database.notify(JOB_CHANNEL),
      wake: () => workers.forEach((worker) => worker.wake()),
      onError,
    }),
    onError,
  });
  try {
    await database.assertSafeRole();
  } catch (error) {
    await database.close();
    throw error;
  }
  const context = createTenantContext();
  const registry = createRegistry(database);
  const keyUsage = createKeyUsage(database, onError);
  const withTenant = createWithTenant(database, registry, context);
  const resolveTenant = createTenantResolution(resolvers, registry);
  const tenant = tenantMiddleware({ database, resolveTenant, context, keyUsage, log });
  const ready = () => assertSchemaCurrent(database, expected.shared);

  const workers: JobWorker[] = [];
  let server: RunningServer | undefined;
  const stopping = new AbortController();
  let closing: Promise<void> | undefined;
  const close = () =>
    (closing ??= (async () => {
      stopping.abort();
      await Promise.all([server?.close(), ...workers.map((worker) => worker.stop())]);
      await keyUsage.close();
      await database.close();
    })());

  const transaction = () => {
    const { transaction: current } = context.current();
    if (current) return current;
    throw new TenantRequired("This scope holds no transaction: open one with withTenant().");
  };

  const app = createApp({
    features,
    withTenant,
    tenant,
    log,
    ready,
    stopping: stopping.signal,
    trustProxy,
    info: options.info ?? { title: "API", version: "0.0.0" },
  });

  return {
    app,
    features,
    routes: features.flatMap((feature) => feature.routes),
    log,
    tenant: () => tenant,
    withTenant,
    currentTenant: () => context.current().tenant,
    tryCurrentTenant: () => context.tryCurrent()?.tenant,
    db: () => transaction().db,
    afterCommit: (hook) => transaction().afterCommit(hook),
    bind: (callback) => context.bind(callback),
    forgetTenant: (tenantId) => registry.forget(tenantId),
    ready,
    work(workerOptions) {
      const jobs = features.flatMap((feature) => feature.jobs);
      const worker = startJobWorker({ database, registry, context, log, jobs }, workerOptions);
      workers.push(worker);
      return worker;
    },
    async listen(listenOptions) {
      return (server = await listen(app, listenOptions));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
