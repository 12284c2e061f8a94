import type { Principal } from "../auth/principal.ts";
import type { Database, TenantTransaction, TransactionOptions } from "../database/types.ts";
import type { TenantScope } from "../tenancy/context.ts";
import type { Tenant } from "../tenancy/tenant.ts";
import type { Answer } from "./held-answer.ts";

/** A request's tenant and its transaction, which is opened when somebody first asks for it. */
export interface RequestScope extends TenantScope {
  readonly queryCount: number;
  /** Opens the transaction, unless it is open already. */
  begin(options: TransactionOptions): TenantTransaction;
  /** From now on the request holds no transaction, and each `withTenant()` below it opens its own. */
  holdNone(): void;
  /** Adds a step that runs inside the transaction right before COMMIT, with the answer that will be given. */
  beforeCommit(step: (answer: () => Answer) => Promise<void>): void;
  commit(answer: () => Answer): Promise<void>;
  rollback(): Promise<void>;
}

/** @param usual how the transaction begins when nobody says otherwise */
export function createRequestScope(
  database: Database,
  tenant: Tenant,
  principal: Principal | undefined,
  usual: TransactionOptions,
): RequestScope {
  let transaction: TenantTransaction | undefined;
  let holdsNone = false;
  const steps: ((answer: () => Answer) => Promise<void>)[] = [];
  const begin = (options: TransactionOptions) => (transaction ??= database.open(tenant, options));
  return {
    tenant,
    principal,
    get transaction() {
      return holdsNone ? undefined : begin(usual);
    },
    get queryCount() {
      return transaction?.queryCount ?? 0;
    },
    begin,
    holdNone() {
      holdsNone = true;
    },
    beforeCommit: (step) => void steps.push(step),
    async commit(answer) {
      for (const step of steps) await step(answer);
      await transaction?.commit();
    },
    async rollback() {
      await transaction?.rollback();
    },
  };
}
