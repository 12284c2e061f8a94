import { onTestFinished, vi } from "vitest";

/**
 * Stops the clocks until the test ends, on a full second: the wall clock that tokens are checked with, and the monotonic
 * one that caches age by. The network does not run meanwhile: its timers stand still, too.
 *
 * @returns lets seconds pass
 */
export function stopClock(): (seconds: number) => void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"], now: Math.ceil(Date.now() / 1000) * 1000 });
  // Not among toFake: that replaces the global object, and lru-cache holds on to the one it found when it was loaded.
  const monotonic = vi.spyOn(performance, "now").mockImplementation(() => Date.now());
  onTestFinished(() => {
    monotonic.mockRestore();
    vi.useRealTimers();
  });
  return (seconds) => void vi.advanceTimersByTime(seconds * 1000);
}
