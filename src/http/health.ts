import express, { type Router } from "express";
import { stateOf } from "./request-state.ts";

export interface HealthDeps {
  /** Resolves when the database answers and its schema is the one the code expects. */
  ready(): Promise<void>;
  /** True once the server has begun to shut down. */
  isStopping(): boolean;
}

/** `/livez`: the process runs. `/readyz`: it can serve; 503 tells a load balancer to send nobody. */
export function health(deps: HealthDeps): Router {
  const router = express.Router();
  router.get("/livez", (_request, response) => void response.json({ status: "ok" }));
  router.get("/readyz", async (request, response) => {
    if (deps.isStopping()) {
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
  });
  return router;
}
