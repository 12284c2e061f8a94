import type { RequestHandler } from "express";
import { stateOf } from "./request-state.ts";

export interface HealthDeps {
  /** Resolves when the database answers and its schema is the one the code expects. */
  ready(): Promise<void>;
  /** Aborts when the server begins to shut down. */
  readonly stopping: AbortSignal;
}

/** `/livez`: the process runs. */
export function livez(): RequestHandler {
  return (_request, response) => void response.json({ status: "ok" });
}

/** `/readyz`: the process can serve; 503 tells a load balancer to send nobody. */
export function readyz(deps: HealthDeps): RequestHandler {
  return async function readyz(request, response) {
    if (deps.stopping.aborted) {
      response.status(503).json({ status: "stopping" });
      return;
    }
    try {
      await deps.ready();
      response.json({ status: "ok" });
    } catch (error) {
      stateOf(request)?.log.warn({ err: error }, "not ready");
      const code = error instanceof Error && "code" in error ? error.code : "ERR_INTERNAL";
      response.status(503).json({ status: "unavailable", code });
    }
  };
}
