/** Jobs of one tenant, type and priority in one queue. */
export interface Lane {
  readonly queue: string;
  readonly tenantId: string;
  readonly type: string;
  readonly priority: number;
}

/** A lane with work, and the number after which its work is looked for. */
interface ActiveLane extends Lane {
  after: number;
}

/** What a claim asks of a lane. */
export interface LaneQuota {
  readonly lane: ActiveLane;
  readonly quota: number;
}

/**
 * Which lanes have work, as far as this worker knows, and whose turn it is. Tenants take turns, however much work each has; a tenant's own lanes
 * come in the order of their priorities.
 */
export interface Lanes {
  /** Notes that there is work in a lane from a number on. */
  add(lane: Lane, first: number): void;
  /**
   * Divides places among tenants with work, beginning after whoever was last: each may hold the same number of jobs.
   * @param places how many more jobs there is room for
   * @param held jobs that are held already, by tenant
   * @param newcomers how many tenants that hold nothing get a place beyond the room there is
   */
  take(places: number, held: ReadonlyMap<string, number>, newcomers: number): LaneQuota[];
  /** How many turns a tenant gets for another's one. @defaultValue 1 for each */
  setWeights(weights: ReadonlyMap<string, number>): void;
  /** Notes what a claim has found: a lane that gave less than was asked for has no more. */
  found(quota: LaneQuota, count: number, last: number | undefined): void;
  readonly size: number;
}

/** Lanes that one claim looks at, at the most. */
const MAX_LANES = 500;

export function createLanes(): Lanes {
  const tenants = new Map<string, Map<string, ActiveLane>>();
  let weights: ReadonlyMap<string, number> = new Map();
  const weightOf = (tenantId: string) => weights.get(tenantId) ?? 1;

  function remove(lane: ActiveLane): void {
    const lanes = tenants.get(lane.tenantId);
    lanes?.delete(keyOf(lane));
    if (lanes?.size === 0) tenants.delete(lane.tenantId);
  }

  /** The tenant goes to the end of the line. */
  function moveToEnd(tenantId: string): void {
    const lanes = tenants.get(tenantId);
    if (!lanes) return;
    tenants.delete(tenantId);
    tenants.set(tenantId, lanes);
  }

  return {
    add({ queue, tenantId, type, priority }, first) {
      const lanes = tenants.get(tenantId) ?? new Map<string, ActiveLane>();
      tenants.set(tenantId, lanes);
      const lane: ActiveLane = { queue, tenantId, type, priority, after: first - 1 };
      const known = lanes.get(keyOf(lane));
      if (known) known.after = Math.min(known.after, lane.after);
      else lanes.set(keyOf(lane), lane);
    },
    take(places, held, newcomers) {
      const total = [...held.values()].reduce((sum, count) => sum + count, places);
      const share = total / [...tenants.keys()].reduce((sum, tenantId) => sum + weightOf(tenantId), 0);
      const quotas: LaneQuota[] = [];
      let left = places;
      let beyond = newcomers;
      for (const [tenantId, lanes] of [...tenants]) {
        const holds = held.get(tenantId) ?? 0;
        const due = Math.max(1, Math.ceil(share * weightOf(tenantId))) - holds;
        let quota = Math.max(0, Math.min(left, due));
        // Whoever has nothing here must not wait until others' jobs have made room.
        if (quota === 0 && holds === 0 && beyond > 0) {
          quota = 1;
          beyond -= 1;
        }
        if (quota === 0) continue;
        if (quotas.length >= MAX_LANES) break;
        const inOrder = [...lanes.values()].sort((one, other) => one.priority - other.priority);
        quotas.push(...inOrder.map((lane) => ({ lane, quota })));
        left = Math.max(0, left - quota);
        moveToEnd(tenantId);
      }
      return quotas;
    },
    found({ lane, quota }, count, last) {
      if (last !== undefined) lane.after = last;
      if (count < quota) remove(lane);
    },
    setWeights(wanted) {
      weights = wanted;
    },
    get size() {
      return tenants.size;
    },
  };
}

const keyOf = ({ queue, type, priority }: Lane): string => `${priority} ${queue} ${type}`;
