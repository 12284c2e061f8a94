import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { Principal } from "../auth/principal.ts";
import type { TenantTransaction } from "../database/types.ts";
import { TenantRequired } from "../errors.ts";
import type { Tenant } from "./tenant.ts";

/** What code below a request, a job or `withTenant()` runs as. */
export interface TenantScope {
  readonly tenant: Tenant;
  readonly principal: Principal | undefined;
  /** The transaction that nested code joins; undefined where the scope holds none and each caller opens its own. */
  readonly transaction: TenantTransaction | undefined;
}

/** Carries the scope through promises, timers and emitters (AsyncLocalStorage). One per Rowhouse instance. */
export interface TenantContext {
  run<Result>(scope: TenantScope, work: () => Result): Result;
  /** @throws TenantRequired where no tenant is set: never "all tenants" */
  current(): TenantScope;
  tryCurrent(): TenantScope | undefined;
  /** Ties a callback to the scope of now, for libraries that lose it (queues, parsers, old emitters). */
  bind<Args extends unknown[], Result>(callback: (...args: Args) => Result): (...args: Args) => Result;
}

/** Makes the context of one Rowhouse instance. */
export function createTenantContext(): TenantContext {
  const storage = new AsyncLocalStorage<TenantScope>();
  return {
    run: (scope, work) => storage.run(scope, work),
    tryCurrent: () => storage.getStore(),
    current() {
      const scope = storage.getStore();
      if (scope) return scope;
      throw new TenantRequired(
        "No tenant is set here. Call this below rowhouse.tenant() or inside withTenant(); " +
          "where a library loses the async context, wrap its callback in bind().",
      );
    },
    bind: (callback) => AsyncResource.bind(callback),
  };
}
