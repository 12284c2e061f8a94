import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import type { z } from "zod";
import type { TenantDb } from "../database/types.ts";
import { Forbidden, MediaTypeUnsupported, MethodNotAllowed, Unauthenticated } from "../errors.ts";
import { fromZodError } from "./problem.ts";
import { sendReply } from "./reply.ts";
import type { RequestScope } from "./request-scope.ts";
import { stateOf } from "./request-state.ts";
import type { RouteDefinition } from "./route-types.ts";
import { isStream, sendStream, type StreamDeps } from "./stream.ts";
import { scopeOf } from "./tenant.ts";

export type RouterDeps = StreamDeps;

/** Mounts declared routes on an Express router. It belongs below the tenant middleware. */
export function createRouter(routes: readonly RouteDefinition[], deps: RouterDeps): Router {
  const router = express.Router();
  for (const route of routes) router[route.method](route.path, handle(route, deps));
  for (const path of new Set(routes.map((route) => route.path))) {
    router.all(path, refuseMethod(routes.filter((route) => route.path === path)));
  }
  return router;
}

function handle(route: RouteDefinition, deps: RouterDeps): RequestHandler {
  return async function handleRoute(request, response) {
    const state = stateOf(request);
    const scope = scopeOf(request);
    if (state) state.route = route.path;
    authorize(route, scope.principal?.scopes);

    const input = {
      params: isEmpty(route.params) ? NO_FIELDS : await parse(route.params, request.params, "params"),
      query: isEmpty(route.query) ? NO_FIELDS : await parse(route.query, request.query, "query"),
      body: route.body ? await parse(route.body, readBody(request), "body") : undefined,
      tenant: scope.tenant,
      principal: scope.principal,
      headers: request.headers,
      get log() {
        return state?.log;
      },
      get signal() {
        return hangUpSignal(response);
      },
      ...(route.transaction === "none" ? outside(scope, deps) : inside(scope, route)),
    };
    const result = await route.handler(input as never);
    if (isStream(result)) await sendStream(request, response, result, deps);
    else sendReply(request, response, result);
  };
}

function inside(scope: RequestScope, route: RouteDefinition) {
  const transaction = scope.begin({ readOnly: route.transaction === "read only" });
  return {
    db: transaction.db,
    afterCommit: (hook: () => void | Promise<void>) => transaction.afterCommit(hook),
  };
}

function outside(scope: RequestScope, deps: RouterDeps) {
  scope.holdNone();
  return {
    transaction: <Result>(work: (db: TenantDb) => Promise<Result>) => deps.withTenant(scope.tenant.id, work),
  };
}

function authorize(route: RouteDefinition, scopes: readonly string[] | undefined): void {
  if (route.scopes.length === 0) return;
  if (!scopes) throw new Unauthenticated("This needs a token or an API key.");
  const missing = route.scopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) throw new Forbidden(`The caller lacks the scope ${missing.map((s) => `"${s}"`).join(", ")}.`);
}

const NO_FIELDS = Object.freeze({});
const isEmpty = (schema: z.ZodObject): boolean => Object.keys(schema.shape).length === 0;

async function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  root: string,
): Promise<z.output<Schema>> {
  const result = await schema.safeParseAsync(value);
  if (result.success) return result.data;
  throw fromZodError(result.error, root);
}

/** The parsed body. A body that is no JSON was left alone by the parser: it is refused here, where one is expected. */
function readBody(request: Request): unknown {
  const hasBody =
    request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  if (hasBody && request.is("application/json") === false) {
    throw new MediaTypeUnsupported("The body must be JSON: send `Content-Type: application/json`.");
  }
  return request.body;
}

function hangUpSignal(response: Response): AbortSignal {
  const controller = new AbortController();
  if (response.destroyed) controller.abort();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** The answer to OPTIONS, and to every method that the path does not take. */
function refuseMethod(routes: readonly RouteDefinition[]): RequestHandler {
  const methods = new Set(routes.map((route) => route.method.toUpperCase()));
  if (methods.has("GET")) methods.add("HEAD");
  const allow = [...methods, "OPTIONS"];
  return function refuseMethod(request, response) {
    if (request.method === "OPTIONS") {
      response.status(204).setHeader("Allow", allow.join(", ")).end();
      return;
    }
    throw new MethodNotAllowed(`${request.method} is not possible here. Allowed: ${allow.join(", ")}.`, { allow });
  };
}
