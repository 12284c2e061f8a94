import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { onTestFinished } from "vitest";
import type { Principal } from "../../src/auth/principal.ts";
import { createDatabase, type DatabaseOptions } from "../../src/database/database.ts";
import { errorHandler } from "../../src/http/error-handler.ts";
import { createLogger } from "../../src/http/request-log.ts";
import { tenant } from "../../src/http/tenant.ts";
import { createTenantContext } from "../../src/tenancy/context.ts";
import { createRegistry } from "../../src/tenancy/registry.ts";
import type { TenantResolver } from "../../src/tenancy/resolver.ts";
import { createTenantResolution } from "../../src/tenancy/resolve-tenant.ts";
import { createWithTenant } from "../../src/tenancy/with-tenant.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { listen } from "./held-server.ts";

/** The parts that an application is made of. */
export type Parts = ReturnType<typeof createParts>;

interface TenantAppOptions {
  database?: Partial<DatabaseOptions>;
  /** Above the tenant middleware. */
  before?: RequestHandler[];
  /** @defaultValue the framework's */
  onError?: ErrorRequestHandler;
}

/** The tenant is whom `X-Tenant` names, the caller is whom `X-Caller` names. */
const headers: TenantResolver = {
  name: "headers",
  resolve({ headers }) {
    const [id, caller] = [headers["x-tenant"], headers["x-caller"]];
    if (typeof id !== "string") return Promise.resolve(undefined);
    const principal: Principal = { kind: "api-key", id: String(caller), scopes: [] };
    return Promise.resolve({ tenant: { by: "id", id }, ...(caller === undefined ? {} : { principal }) });
  },
};

function createParts(server: TestDatabase, options: Partial<DatabaseOptions>) {
  const logs: Record<string, unknown>[] = [];
  const log = createLogger("debug", { write: (line) => void logs.push(JSON.parse(line) as Record<string, unknown>) });
  const database = createDatabase({
    url: server.appUrl,
    poolSize: 4,
    tenantLimit: 3,
    preparedStatements: true,
    applicationName: "test",
    onError: (error) => log.error({ err: error }, "in the background"),
    ...options,
  });
  onTestFinished(() => database.close());
  const registry = createRegistry(database);
  const context = createTenantContext();
  const withTenant = createWithTenant(database, registry, context);
  const usedKeys: string[] = [];
  const tenantMiddleware = tenant({
    database,
    context,
    log,
    resolveTenant: createTenantResolution([headers], registry),
    keyUsage: { record: (_tenant, keyId) => void usedKeys.push(keyId) },
  });
  const db = () => context.current().transaction!.db;
  const shutdown = new AbortController();
  const stopping = shutdown.signal;
  return { database, registry, context, withTenant, db, logs, usedKeys, stopping, shutdown, tenant: tenantMiddleware };
}

/** A plain Express application below the tenant middleware, on a real database. */
export async function serveTenants(
  server: TestDatabase,
  routes: (app: Express, parts: Parts) => void,
  { database = {}, before = [], onError = errorHandler() }: TenantAppOptions = {},
) {
  const parts = createParts(server, database);
  const app = express();
  app.disable("x-powered-by");
  for (const middleware of before) app.use(middleware);
  app.use(parts.tenant);
  routes(app, parts);
  app.use(onError);
  return listen(app, parts);
}
