import type { ErrorRequestHandler, Request, Response } from "express";
import { MethodNotAllowed } from "../errors.ts";
import { abandonAnswer } from "./held-response.ts";
import { retryAfterOf, statusOf, toProblem, toRowhouseError } from "./problem.ts";
import { stateOf } from "./request-state.ts";

/** Answers a request with the problem document of an error. The response must not have begun. */
export function answerProblem(request: Request, response: Response, thrown: unknown): void {
  const state = stateOf(request);
  const error = toRowhouseError(thrown);
  const status = statusOf(error);
  const log = { err: error, status };
  if (status >= 500) state?.log.error(log, "request failed");
  else state?.log.debug(log, "request refused");

  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) response.setHeader("Retry-After", String(retryAfter));
  // RFC 9110, section 15.5.6: a 405 lists what is allowed.
  if (error instanceof MethodNotAllowed) response.setHeader("Allow", error.allow.join(", "));
  // RFC 9110, section 11.6.1: a 401 names the way to authenticate.
  if (status === 401) response.setHeader("WWW-Authenticate", 'Bearer realm="rowhouse"');
  response.status(status);
  response.setHeader("Content-Type", "application/problem+json; charset=utf-8");
  response.end(request.method === "HEAD" ? undefined : JSON.stringify(toProblem(error, state?.id)));
}

/** The last middleware: every error becomes a problem document, and nothing of its inside leaves the process. */
export function errorHandler(): ErrorRequestHandler {
  return function errorHandler(error: unknown, request, response, _next) {
    if (abandonAnswer(response)) answerProblem(request, response, error);
    else stateOf(request)?.log.error({ err: error }, "failed after the answer");
  };
}
