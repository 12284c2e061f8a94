import type { PgTable } from "drizzle-orm/pg-core";
import { z } from "zod";
import type { TenantDb } from "../database/types.ts";
import { DefinitionInvalid } from "../errors.ts";
import type { JobDefinition } from "../jobs/define-job.ts";
import type { DeclareRoute, Method, RouteBuilder, RouteDefinition } from "./route-types.ts";

/** One part of a product: its tables, its routes and its jobs. */
export interface Feature {
  readonly name: string;
  /** Tables by name, as `tenantTable()` and `globalTable()` make them. */
  readonly tables: Readonly<Record<string, PgTable>>;
  readonly routes: readonly RouteDefinition[];
  readonly jobs: readonly JobDefinition[];
  /** Makes rows for a tenant: demo data, and the alike data of two tenants that the probes need. */
  readonly seed: ((db: TenantDb) => Promise<unknown>) | undefined;
}

export interface FeatureOptions {
  readonly name: string;
  readonly tables?: Readonly<Record<string, PgTable>>;
  /** Kinds of jobs, as `defineJob()` makes them: what a worker runs. */
  readonly jobs?: readonly JobDefinition[];
  routes?(route: RouteBuilder): void;
  seed?(db: TenantDb): Promise<unknown>;
}

const METHODS: readonly Method[] = ["get", "post", "put", "patch", "delete"];

/**
 * Declares a feature. Nothing runs yet: routes are mounted by `createRowhouse({ features })`.
 * @throws DefinitionInvalid when two routes are the same, a path has an optional part, or it and its `params` do not agree
 */
export function defineFeature(options: FeatureOptions): Feature {
  const routes: RouteDefinition[] = [];
  const builder = Object.fromEntries(METHODS.map((method) => [method, declare(options.name, method, routes)]));
  options.routes?.(builder as RouteBuilder);
  const { name, tables = {}, jobs = [] } = options;
  return { name, tables, routes, jobs, seed: options.seed?.bind(options) };
}

function declare(feature: string, method: Method, routes: RouteDefinition[]): DeclareRoute {
  return function declareRoute(path, options, handler) {
    const name = `${method.toUpperCase()} ${path}`;
    if (routes.some((route) => route.method === method && route.path === path)) {
      throw new DefinitionInvalid(`Route ${name} is declared twice in feature "${feature}".`);
    }
    if (/[{}]/.test(path)) {
      throw new DefinitionInvalid(`Route ${name} has an optional part. Declare a route with it and one without.`);
    }
    const params = z.object(options.params ?? {});
    assertParamsMatch(name, path, Object.keys(params.shape));
    if (method === "get" && options.body) {
      throw new DefinitionInvalid(`Route ${name} declares a body, which GET does not have. Use \`query\`.`);
    }
    routes.push({
      feature,
      method,
      path,
      params,
      query: z.object(options.query ?? {}),
      body: options.body,
      scopes: options.scopes ?? [],
      transaction: options.transaction ?? (method === "get" ? "read only" : "read write"),
      probe: options.probe,
      response: options.response,
      summary: options.summary,
      handler,
    });
  };
}

/** A parameter without a schema would reach the database unchecked, and the probes would not know what it is. */
function assertParamsMatch(name: string, path: string, declared: readonly string[]): void {
  const inPath = [...path.matchAll(/[:*]([A-Za-z_]\w*)/g)].map((match) => match[1] ?? "");
  const missing = inPath.find((parameter) => !declared.includes(parameter));
  if (missing !== undefined) {
    throw new DefinitionInvalid(`Route ${name} has no schema for :${missing}. Add it to \`params\`, e.g. idOf(table).`);
  }
  const unused = declared.find((parameter) => !inPath.includes(parameter));
  if (unused !== undefined) {
    throw new DefinitionInvalid(`Route ${name} has a schema for "${unused}", which is not in its path.`);
  }
}
