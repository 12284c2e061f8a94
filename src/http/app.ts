import express, { type Express, type Request, type RequestHandler } from "express";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { ResourceNotFound } from "../errors.ts";
import { errorHandler } from "./error-handler.ts";
import type { Feature } from "./feature.ts";
import { type HealthDeps, livez, readyz } from "./health.ts";
import { idempotency } from "./idempotency.ts";
import { type ApiInfo, toOpenApi } from "./openapi.ts";
import { requestLog } from "./request-log.ts";
import { createRouter, type RouterDeps } from "./router.ts";
import { safeHeaders } from "./safe-headers.ts";

/** Express's own types, under names of ours: outside this folder nothing imports express. */
export type Application = Express;
export type Middleware = RequestHandler;

export interface AppDeps extends RouterDeps, HealthDeps {
  readonly features: readonly Feature[];
  readonly log: Logger;
  readonly info: ApiInfo;
  readonly trustProxy: Config["trustProxy"];
  /** The tenant middleware. */
  readonly tenant: RequestHandler;
}

/** The largest JSON body, in bytes. */
const BODY_LIMIT = 1024 * 1024;

/** Composes the application, in the order in which a request walks through it. */
export function createApp(deps: AppDeps): Express {
  const app = express();
  app.set("trust proxy", deps.trustProxy);
  app.disable("x-powered-by");
  const routes = deps.features.flatMap((feature) => feature.routes);
  const openApi = toOpenApi(routes, deps.info);

  app.use(requestLog(deps.log));
  app.use(safeHeaders());
  app.get("/livez", livez());
  app.get("/readyz", readyz(deps));
  app.get("/openapi.json", (_request, response) => void response.json(openApi));
  app.use(jsonBody());
  app.use(deps.tenant);
  app.use(idempotency());
  app.use(createRouter(routes, deps));
  app.use((request: Request) => {
    throw new ResourceNotFound(`No route for ${request.method} ${request.path}.`);
  });
  app.use(errorHandler());
  return app;
}

/** Parses JSON bodies, and keeps their exact bytes: an idempotency key stands for those. */
export function jsonBody(): RequestHandler {
  return express.json({
    limit: BODY_LIMIT,
    verify(request: Request & { rawBody?: Buffer }, _response, bytes) {
      request.rawBody = bytes;
    },
  });
}
