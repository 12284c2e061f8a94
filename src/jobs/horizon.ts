/** Where the numbers of ready jobs stood at a moment, and which transactions were running then. */
export interface NumbersSeen {
  /** The last number that was drawn. */
  readonly last: number;
  /** The oldest running transaction's id (pg_snapshot_xmin). */
  readonly xmin: bigint;
  /** The next transaction's id (pg_snapshot_xmax). */
  readonly xmax: bigint;
}

/** How long a number is waited for, in milliseconds; after that it is left to the look at all lanes. */
const PATIENCE_MS = 10_000;

/**
 * Below which number nothing new can turn up. Numbers are drawn before their transactions commit, so a lower one may appear after a higher; but once every
 * transaction that was running when a number was drawn has ended, it is there, or never will be.
 *
 * @param now a clock in milliseconds. @defaultValue performance.now
 */
export function createHorizon(now: () => number = () => performance.now()) {
  let horizon = 0;
  const unsettled: { readonly last: number; readonly xmax: bigint; readonly at: number }[] = [];
  return {
    get value() {
      return horizon;
    },
    /** @returns the number after which new ones are to be looked for */
    note({ last, xmin, xmax }: NumbersSeen): number {
      if (last > (unsettled.at(-1)?.last ?? horizon)) unsettled.push({ last, xmax, at: now() });
      while (unsettled[0] && (unsettled[0].xmax <= xmin || now() - unsettled[0].at > PATIENCE_MS)) {
        horizon = unsettled.shift()!.last;
      }
      return horizon;
    },
  };
}
