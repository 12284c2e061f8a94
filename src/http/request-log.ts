import type { RequestHandler } from "express";
import { type DestinationStream, type Logger, pino } from "pino";
import { attachState } from "./request-state.ts";

/** Paths of log objects that may hold secrets, whoever logs them. */
const SECRETS = [
  "authorization",
  "cookie",
  "headers.authorization",
  "headers.cookie",
  'headers["x-api-key"]',
  'headers["idempotency-key"]',
  "req.headers",
  "res.headers",
];

/**
 * The structured log: JSON lines on standard output.
 * @param level pino's level; `silent` for none
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { level, redact: { paths: SECRETS, censor: "[redacted]" } };
  return destination ? pino(options, destination) : pino(options);
}

/**
 * Gives each request an id (echoed as `X-Request-Id`) and writes one line when it has ended: method, route pattern,
 * status, duration, tenant and number of queries. The URL itself is not logged: paths and queries may carry secrets.
 */
export function requestLog(log: Logger): RequestHandler {
  return function requestLog(request, response, next) {
    const startedAt = performance.now();
    const state = attachState(request, log);
    response.setHeader("X-Request-Id", state.id);
    response.once("close", () => {
      state.log.info(
        {
          method: request.method,
          route: state.route,
          status: response.statusCode,
          durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
          tenant: state.scope?.tenant.id,
          queries: state.scope?.queryCount ?? 0,
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        "request",
      );
    });
    next();
  };
}
