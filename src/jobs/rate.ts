const WINDOW_MS = 1_000;

/** How often something happens, over about the last second. */
export function createRate(now: () => number = () => performance.now()) {
  let since = now();
  let counted = 0;
  let last = 0;
  const roll = () => {
    const passed = now() - since;
    if (passed < WINDOW_MS) return;
    last = (counted * 1_000) / passed;
    counted = 0;
    since = now();
  };
  return {
    count(): void {
      counted += 1;
      roll();
    },
    /** Of the whole second before, or of this one when it is already more. */
    get perSecond(): number {
      roll();
      return Math.max(last, counted);
    },
  };
}
