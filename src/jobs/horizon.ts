/** Where the numbers of ready jobs stood at a moment, and which transactions were running then. */
export interface NumbersSeen {
  /** The last number that was drawn. */
  readonly last: number;
  /** A transaction's id that is higher than that of any which drew one of them. */
  readonly fence: bigint;
  /** The id of the oldest transaction that was running a moment later. */
  readonly oldest: bigint;
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
  const unsettled: { readonly last: number; readonly fence: bigint; readonly at: number }[] = [];
  return {
    get value() {
      return horizon;
    },
    /** @returns the number after which new ones are to be looked for */
    note({ last, fence, oldest }: NumbersSeen): number {
      if (last > (unsettled.at(-1)?.last ?? horizon)) unsettled.push({ last, fence, at: now() });
      while (unsettled[0] && (unsettled[0].fence <= oldest || now() - unsettled[0].at > PATIENCE_MS)) {
        horizon = unsettled.shift()!.last;
      }
      return horizon;
    },
  };
}
