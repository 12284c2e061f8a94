import type { Principal } from "../auth/principal.ts";
import type { Database, TenantTransaction, TransactionOptions } from "../database/types.ts";
import { RequestInvalid } from "../errors.ts";
import type { TenantScope } from "../tenancy/context.ts";
import type { Tenant } from "../tenancy/tenant.ts";
import type { Answer } from "./held-answer.ts";

/**
 * Stores something about the answer in the transaction that it answers for. It must send its statement before it
 * returns, so that the statement travels in COMMIT's flight; if it fails, COMMIT is answered by ROLLBACK.
 */
type CommitStep = (answer: Answer) => Promise<unknown>;

/** A request's tenant and its transaction, which is opened when somebody first asks for it. */
export interface RequestScope extends TenantScope {
  readonly queryCount: number;
  /** The request's transaction. Who asks first decides how it begins. It takes no statements once the answer has ended. */
  begin(options: TransactionOptions): TenantTransaction;
  /** Another transaction of this tenant, which the caller ends. */
  open(options: TransactionOptions): TenantTransaction;
  /**
   * From now on the request holds no transaction, and each `withTenant()` below it opens its own.
   * @throws RequestInvalid when a step waits for the COMMIT that would not come
   */
  holdNone(): void;
  beforeCommit(step: CommitStep): void;
  commit(answer: () => Answer): Promise<void>;
  /** Never throws. */
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
  let isOver = false;
  const steps: CommitStep[] = [];
  const open = (options: TransactionOptions) => database.open(tenant, options);

  function begin(options: TransactionOptions): TenantTransaction {
    transaction ??= open(options);
    // Nobody would end it any more: whoever asks first after the answer gets one that is closed.
    if (isOver) void transaction.rollback();
    return transaction;
  }

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
    open,
    holdNone() {
      if (steps.length > 0 && !isOver) {
        throw new RequestInvalid(
          "This route works outside a transaction, so it cannot promise to run only once: it takes no Idempotency-Key.",
        );
      }
      holdsNone = true;
    },
    beforeCommit: (step) => void steps.push(step),
    commit(answer) {
      isOver = true;
      if (!transaction) return Promise.resolve();
      return steps.length > 0 ? commitWith(transaction, steps, answer) : transaction.commit();
    },
    async rollback() {
      isOver = true;
      await transaction?.rollback();
    },
  };
}

async function commitWith(
  transaction: TenantTransaction,
  steps: readonly CommitStep[],
  answer: () => Answer,
): Promise<void> {
  let sent: Promise<unknown>[];
  try {
    sent = steps.map((step) => step(answer()));
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
  const [committed, ...stored] = await Promise.allSettled([transaction.commit(), ...sent]);
  for (const outcome of [committed, ...stored]) if (outcome.status === "rejected") throw outcome.reason;
}
