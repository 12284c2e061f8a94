import { setTimeout as sleep } from "node:timers/promises";

/** On which workers listen. Notifications stay within a database. */
export const JOB_CHANNEL = "rowhouse_jobs";

/** Between two notifications, in milliseconds: many commits are one wake-up. */
const INTERVAL_MS = 5;

export interface JobNotifierOptions {
  /** Wakes workers elsewhere. */
  readonly notify: () => Promise<void>;
  /** Wakes those of this process. */
  readonly wake: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Makes the function that is called after each commit with new jobs. The notification goes out on its own, after the commit and not in it: NOTIFY
 * in a transaction makes all commits of the database wait for each other. One that is lost costs a worker's poll interval.
 */
export function createJobNotifier({ notify, wake, onError }: JobNotifierOptions): () => void {
  let isWanted = false;
  let isAtWork = false;

  async function send(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      await notify().catch(onError);
      await sleep(INTERVAL_MS, undefined, { ref: false });
    }
    isAtWork = false;
  }

  return function onEnqueued() {
    wake();
    isWanted = true;
    if (isAtWork) return;
    isAtWork = true;
    void send();
  };
}
