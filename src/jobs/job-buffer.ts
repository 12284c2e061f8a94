import type { ClaimedJob } from "./queue-store.ts";

/** Jobs that were claimed and wait for a place: tenants take turns, a tenant's own jobs go by priority, then by age. */
export interface JobBuffer {
  push(job: ClaimedJob): void;
  /** The next tenant's next job. */
  shift(): ClaimedJob | undefined;
  /** Takes all of them out. */
  drain(): ClaimedJob[];
  readonly size: number;
}

export function createJobBuffer(): JobBuffer {
  const tenants = new Map<string, ClaimedJob[]>();
  let size = 0;
  return {
    push(job) {
      const jobs = tenants.get(job.tenantId);
      size += 1;
      if (!jobs) return void tenants.set(job.tenantId, [job]);
      // Behind those of the same priority: they come in order.
      const place = jobs.findLastIndex(({ priority }) => priority <= job.priority);
      jobs.splice(place + 1, 0, job);
    },
    shift() {
      const [entry] = tenants;
      if (!entry) return undefined;
      const [tenantId, jobs] = entry;
      const job = jobs.shift();
      tenants.delete(tenantId);
      if (jobs.length > 0) tenants.set(tenantId, jobs);
      size -= 1;
      return job;
    },
    drain() {
      const jobs = [...tenants.values()].flat();
      tenants.clear();
      size = 0;
      return jobs;
    },
    get size() {
      return size;
    },
  };
}
