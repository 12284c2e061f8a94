import { TenantBusy } from "../errors.ts";

/** How long a transaction waits for its tenant's turn, in milliseconds. */
const WAIT_MS = 5_000;

/** Keeps one tenant from taking the whole pool. */
export interface TenantLimit {
  /** Takes one of the tenant's places if one is free. @returns the function that gives it back, or undefined */
  tryEnter(tenantId: string): (() => void) | undefined;
  /**
   * Waits for one of the tenant's places, first come first served.
   * @returns the function that gives the place back
   * @throws TenantBusy after 5 seconds
   */
  enter(tenantId: string): Promise<() => void>;
}

interface Queue {
  running: number;
  waiting: Set<() => void>;
}

/** @param places transactions that one tenant may hold at once in this process */
export function createTenantLimit(places: number): TenantLimit {
  const queues = new Map<string, Queue>();

  function leave(tenantId: string, queue: Queue): void {
    const [next] = queue.waiting;
    if (next) {
      queue.waiting.delete(next);
      next();
    } else if (--queue.running === 0) {
      queues.delete(tenantId);
    }
  }

  /** A place that was taken, as the function that gives it back: once, however often it is called. */
  function place(tenantId: string, queue: Queue): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave(tenantId, queue);
    };
  }

  function queueOf(tenantId: string): Queue {
    let queue = queues.get(tenantId);
    if (!queue) queues.set(tenantId, (queue = { running: 0, waiting: new Set() }));
    return queue;
  }

  function tryEnter(tenantId: string): (() => void) | undefined {
    const queue = queueOf(tenantId);
    if (queue.running >= places) return undefined;
    queue.running++;
    return place(tenantId, queue);
  }

  return {
    tryEnter,
    async enter(tenantId) {
      const free = tryEnter(tenantId);
      if (free) return free;
      const queue = queueOf(tenantId);
      await turn(queue, places);
      return place(tenantId, queue);
    },
  };
}

/** Resolves when a place is handed over; the place stays counted as running meanwhile. */
function turn(queue: Queue, places: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      queue.waiting.delete(granted);
      reject(
        new TenantBusy(
          `The tenant holds all of its ${places} concurrent transactions and none ended within ${WAIT_MS / 1000} s. ` +
            "Try again, or raise ROWHOUSE_TENANT_LIMIT.",
        ),
      );
    }, WAIT_MS);
    const granted = () => {
      clearTimeout(timer);
      resolve();
    };
    queue.waiting.add(granted);
  });
}
