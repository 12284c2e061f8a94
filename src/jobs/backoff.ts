/** How long to wait after a failed attempt. */
export interface Backoff {
  /** After the first failure, in milliseconds. @defaultValue 1,000 */
  readonly first?: number;
  /** How much longer after each further one. @defaultValue 2 */
  readonly factor?: number;
  /** At the most, in milliseconds. @defaultValue one hour */
  readonly max?: number;
}

const HOUR_MS = 3_600_000;

/**
 * The time until the next attempt: exponential, capped, and spread over its upper half, so that jobs that failed together do not come
 * back together.
 *
 * @param failures attempts that have failed, from 1
 * @param random between 0 and 1. @defaultValue Math.random
 * @returns milliseconds, from half of the whole time to all of it
 */
export function backoffDelay(
  failures: number,
  { first = 1_000, factor = 2, max = HOUR_MS }: Backoff = {},
  random: () => number = Math.random,
): number {
  // Beyond the largest number the power is Infinity, which the cap takes care of.
  const whole = Math.min(max, first * factor ** (failures - 1));
  return whole / 2 + (whole / 2) * random();
}
