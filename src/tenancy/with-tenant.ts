import type { Database, TenantDb, TransactionOptions } from "../database/types.ts";
import { TenantMismatch } from "../errors.ts";
import type { TenantContext } from "./context.ts";
import type { Registry } from "./registry.ts";

/** The one door to tenant rows outside a request. */
export type WithTenant = <Result>(
  tenantId: string,
  work: (db: TenantDb) => Promise<Result>,
  options?: TransactionOptions,
) => Promise<Result>;

/**
 * Makes `withTenant(tenantId, work)`: runs `work` in a transaction of that tenant and commits when it resolves.
 * Inside another transaction of the same tenant it joins as a savepoint; inside one of another tenant it is refused.
 * It throws what `work` throws (after ROLLBACK), and TenantNotFound, TenantSuspended, TenantMismatch, TransactionAborted,
 * CommitUnknown.
 */
export function createWithTenant(database: Database, registry: Registry, context: TenantContext): WithTenant {
  return async function withTenant(tenantId, work, options) {
    const outer = context.tryCurrent();
    const joined = outer?.transaction?.isOpen ? outer.transaction : undefined;
    if (joined && joined.tenant.id !== tenantId.toLowerCase()) {
      throw new TenantMismatch(
        `A transaction of tenant ${joined.tenant.id} is open here, so one of tenant ${tenantId} cannot begin inside it. ` +
          "End the outer one first.",
      );
    }
    if (joined) return joined.savepoint(work);
    const tenant = await registry.tenant({ by: "id", id: tenantId });
    const transaction = database.open(tenant, options);
    // Who calls is known to one tenant only: in another's scope it would carry its rights over.
    const principal = outer?.tenant.id === tenant.id ? outer.principal : undefined;
    return context.run({ tenant, principal, transaction }, async () => {
      let result;
      try {
        result = await work(transaction.db);
      } catch (error) {
        await transaction.rollback();
        throw error;
      }
      await transaction.commit();
      return result;
    });
  };
}
