import { createHorizon } from "./horizon.ts";
import { createLanes, type Lane, type Lanes } from "./lanes.ts";
import type { QueueStore } from "./queue-store.ts";

/** How long until the next look when there seems to be no work, in milliseconds: the safety net below the wake-ups. */
const IDLE_MS = 1_000;
/** The same while there is plenty: new work gathers, and is looked at together. */
const BUSY_MS = 50;
/** Between looks at all lanes, in milliseconds; more where that takes long, so that it is a twentieth of the time at the most. */
const EVERYTHING_MS = 5_000;
const EVERYTHING_FACTOR = 20;
/** Waiting jobs that are made ready in one transaction. */
const PROMOTE = 1_000;

/** Finds out where there is work. */
export interface LookOut {
  readonly lanes: Lanes;
  /** Looks at what is due to be looked at. @param isWoken there may be something new */
  look(isWoken: boolean): Promise<void>;
  /** A job waits for its time: when that is, is to be asked. */
  expectWaiting(): void;
  /** When the next look is due, on the clock of performance.now(). */
  readonly due: number;
}

/** @param isWanted which lanes this worker serves */
export function createLookOut(store: QueueStore, isWanted: (lane: Lane) => boolean): LookOut {
  const lanes = createLanes();
  const horizon = createHorizon();
  let nextNew = 0;
  let nextEverything = 0;
  let nextPromotion = 0;
  let promotedUpTo = "-infinity";

  async function promote(): Promise<void> {
    const { promoted, upTo, next } = await store.promote(promotedUpTo, PROMOTE);
    if (promoted > 0) nextNew = 0;
    if (promoted === PROMOTE) return;
    promotedUpTo = upTo;
    nextPromotion = performance.now() + Math.min(IDLE_MS, Math.max(0, next ?? IDLE_MS));
  }

  async function lookAtAll(): Promise<void> {
    const begun = performance.now();
    for (const lane of await store.allLanes()) if (isWanted(lane)) lanes.add(lane, lane.first);
    lanes.setWeights(await store.weights());
    const took = performance.now() - begun;
    nextEverything = performance.now() + Math.max(EVERYTHING_MS, EVERYTHING_FACTOR * took);
  }

  async function lookAtNew(): Promise<void> {
    const seen = await store.newLanes(horizon.value);
    horizon.note(seen);
    for (const lane of seen.lanes) if (isWanted(lane)) lanes.add(lane, lane.first);
    nextNew = performance.now() + (lanes.size > 0 ? BUSY_MS : IDLE_MS);
  }

  return {
    lanes,
    async look(isWoken) {
      if (performance.now() >= nextPromotion) await promote();
      if (performance.now() >= nextEverything) await lookAtAll();
      if (isWoken || performance.now() >= nextNew) await lookAtNew();
    },
    expectWaiting() {
      nextPromotion = 0;
    },
    get due() {
      return Math.min(nextNew, nextEverything, nextPromotion);
    },
  };
}
