const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The listeners that were added here, to tell them from the application's. */
const ours = new WeakSet<object>();

/**
 * Calls `stop` when the process is told to end, and then lets it end of that signal. An application that listens for the
 * signal itself, to finish what is in flight first, is left alone: it calls `stop` when it is done.
 *
 * @returns takes the listeners away
 */
export function stopOnSignals(stop: () => Promise<void>): () => void {
  const listeners = SIGNALS.map((signal) => {
    const listener = () => {
      if (!process.listeners(signal).every((other) => ours.has(other))) return;
      // The listeners are gone by then, so the signal does what it does by default.
      void stop()
        .catch((error: unknown) => console.error(error))
        .finally(() => process.kill(process.pid, signal));
    };
    ours.add(listener);
    process.on(signal, listener);
    return { signal, listener };
  });
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
