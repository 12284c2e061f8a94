/** Lets a loop sleep until something happens. A wake-up that comes while it is at work is not lost. */
export function createWakeUp() {
  let isWoken = false;
  let resume: (() => void) | undefined;
  return {
    wake: () => {
      isWoken = true;
      resume?.();
    },
    /** @returns true when it was woken since the last time */
    take(): boolean {
      const was = isWoken;
      isWoken = false;
      return was;
    },
    /** Resolves when it is woken, or after so many milliseconds. */
    wait(milliseconds: number): Promise<void> {
      if (isWoken || milliseconds <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(end, milliseconds);
        resume = end;
        function end() {
          clearTimeout(timer);
          resume = undefined;
          resolve();
        }
      });
    },
  };
}
