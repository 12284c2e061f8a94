import type { Request, RequestHandler } from "express";
import type { Logger } from "pino";
import type { KeyUsage } from "../auth/key-usage.ts";
import type { Database } from "../database/types.ts";
import { TenantRequired, Unauthenticated } from "../errors.ts";
import type { TenantContext } from "../tenancy/context.ts";
import type { TenantResolution } from "../tenancy/resolve-tenant.ts";
import { answerProblem } from "./error-handler.ts";
import { holdResponse } from "./held-response.ts";
import { createRequestScope, type RequestScope } from "./request-scope.ts";
import { attachState, stateOf } from "./request-state.ts";

export interface TenantDeps {
  readonly database: Database;
  readonly resolveTenant: TenantResolution;
  readonly context: TenantContext;
  readonly keyUsage: Pick<KeyUsage, "record">;
  readonly log: Logger;
}

/**
 * The middleware that gives a request its tenant: resolves it, opens its transaction (which begins with the first query,
 * READ ONLY for GET and HEAD), runs the rest as that tenant, and holds the response until COMMIT has answered (see
 * {@link holdResponse}). Handlers of plain Express reach the same transaction through the context: `rowhouse.db()`, or
 * `withTenant()`, which joins it as a savepoint.
 * Errors go to the next error handler: Unauthenticated, TenantNotFound, TenantSuspended.
 */
export function tenant(deps: TenantDeps): RequestHandler {
  return async function tenant(request, response, next) {
    const state = stateOf(request) ?? attachState(request, deps.log);
    // Mounted twice, for an application and for a part of it: the request has its tenant already.
    if (state.scope) return next();
    refuseDoubleCredentials(request);
    // Whatever follows is one tenant's: a shared cache must not keep it for the next.
    response.setHeader("Cache-Control", "private, no-cache");
    response.vary(VARY);
    const { tenant, principal } = await deps.resolveTenant({ headers: request.headers, host: hostOf(request) });
    if (principal?.kind === "api-key") deps.keyUsage.record(tenant, principal.id);
    const readOnly = request.method === "GET" || request.method === "HEAD";
    const scope = createRequestScope(deps.database, tenant, principal, { readOnly });
    state.scope = scope;
    holdResponse(response, {
      commit: (answer) => scope.commit(answer),
      rollback: () => scope.rollback(),
      fail: (error) => answerProblem(request, response, error),
      log: (message, error) => state.log.warn({ err: error }, message),
    });
    deps.context.run(scope, () => next());
  };
}

const CREDENTIALS = ["Authorization", "X-API-Key"];
const VARY = CREDENTIALS.join(", ");

/** Node keeps the first of two such headers and drops the other: whichever a proxy looked at, it may be the wrong one. */
function refuseDoubleCredentials({ rawHeaders }: Request): void {
  for (const credential of CREDENTIALS) {
    const isNamed = (text: string, index: number) =>
      index % 2 === 0 && text.length === credential.length && text.toLowerCase() === credential.toLowerCase();
    if (rawHeaders.findIndex(isNamed) === rawHeaders.findLastIndex(isNamed)) continue;
    throw new Unauthenticated(`The request has more than one ${credential} header. Send one.`);
  }
}

/** Without port, lower case, from `X-Forwarded-Host` only behind a trusted proxy. Empty for an HTTP/1.0 request without one. */
function hostOf(request: Request): string {
  return ((request.hostname as string | undefined) ?? "").toLowerCase();
}

/** The scope that the tenant middleware gave a request. @throws TenantRequired above the middleware */
export function scopeOf(request: Request): RequestScope {
  const scope = stateOf(request)?.scope;
  if (scope) return scope;
  throw new TenantRequired("The request has no tenant here: mount this below rowhouse.tenant().");
}
