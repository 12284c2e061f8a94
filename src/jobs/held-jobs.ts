import type { ClaimedJob } from "./queue-store.ts";

/** What a worker holds: how many jobs of each tenant, and of each lease. */
export interface HeldJobs {
  add(job: ClaimedJob): void;
  /** Notes that a job is not held any more. */
  remove(job: ClaimedJob): void;
  /** Leases of which nothing is held any more, since the last time. */
  takeClosed(): string[];
  readonly byTenant: ReadonlyMap<string, number>;
  /** Those of which something is held, or was until a moment ago. */
  leases(): string[];
  clear(): void;
}

export function createHeldJobs(): HeldJobs {
  const byTenant = new Map<string, number>();
  const byLease = new Map<string, number>();
  let closed: string[] = [];

  const count = (counts: Map<string, number>, key: string, change: number): number => {
    const value = (counts.get(key) ?? 0) + change;
    if (value === 0) counts.delete(key);
    else counts.set(key, value);
    return value;
  };

  return {
    byTenant,
    add({ tenantId, lease }) {
      count(byTenant, tenantId, 1);
      count(byLease, lease, 1);
    },
    remove({ tenantId, lease }) {
      if (!byLease.has(lease)) return;
      count(byTenant, tenantId, -1);
      if (count(byLease, lease, -1) === 0) closed.push(lease);
    },
    takeClosed() {
      const taken = closed;
      closed = [];
      return taken;
    },
    leases: () => [...byLease.keys(), ...closed],
    clear() {
      byTenant.clear();
      byLease.clear();
      closed = [];
    },
  };
}
