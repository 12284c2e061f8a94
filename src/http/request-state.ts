import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";
import type { RequestScope } from "./request-scope.ts";

/** What Rowhouse knows of one request. */
export interface RequestState {
  readonly id: string;
  readonly log: Logger;
  /** The route's pattern, once one has matched: `/orders/:id`. */
  route: string | undefined;
  /** Set by the tenant middleware. */
  scope: RequestScope | undefined;
}

const STATE = Symbol("rowhouse.request");

const WELL_FORMED = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives a request its state, with the id it brought (`X-Request-Id`, if well-formed) or a new one. */
export function attachState(request: IncomingMessage, log: Logger): RequestState {
  const given = request.headers["x-request-id"];
  const id = typeof given === "string" && WELL_FORMED.test(given) ? given : randomUUID();
  let child: Logger | undefined;
  const state: RequestState = {
    id,
    // Made when it is first used: most requests log one line, and that only at their end.
    get log() {
      return (child ??= log.child({ requestId: id }));
    },
    route: undefined,
    scope: undefined,
  };
  return ((request as IncomingMessage & { [STATE]?: RequestState })[STATE] = state);
}

/** The state that {@link attachState} made, or undefined where the middleware is missing. */
export function stateOf(request: IncomingMessage): RequestState | undefined {
  return (request as IncomingMessage & { [STATE]?: RequestState })[STATE];
}
