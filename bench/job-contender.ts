import type { BenchServer } from "./setup.ts";

/** `noop` does nothing; `write` writes one row in a transaction in which, as far as the queue can, the job ends. */
export type Kind = "noop" | "write";

export interface Contender {
  readonly name: string;
  /** Jobs that it can be expected to do in a few seconds. */
  readonly atMost: number;
  readonly isTransactional: boolean;
  enqueue(kind: Kind, jobs: number): Promise<void>;
  /** Starts a worker on what is there. @returns seconds until everything has ended, in the queue's own books too */
  drain(kind: Kind, jobs: number): Promise<number>;
  /** Enqueues one after another on an idle queue with a worker. @returns milliseconds from the call to the handler */
  pickups(count: number): Promise<{ readonly p50: number; readonly p99: number }>;
  close(): Promise<void>;
}

export type OpenContender = (server: BenchServer) => Promise<Contender | undefined>;

/** Handlers at work at the same time, for everyone. */
export const CONCURRENCY = 24;
export const POOL = 10;

/** Counts handlers' runs, and resolves when there were as many as expected. */
export function counter() {
  let left = 0;
  let done = () => {};
  return {
    expect(count: number): Promise<void> {
      left = count;
      return new Promise((resolve) => (done = resolve));
    },
    hit(): void {
      left -= 1;
      if (left === 0) done();
    },
  };
}

export function percentiles(times: readonly number[]) {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
  return { p50: at(0.5), p99: at(0.99) };
}
