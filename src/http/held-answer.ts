import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { copyBody, type HeldBody, takeBody } from "./held-body.ts";
import { changedHeaders, type Head, restoreHead } from "./response-head.ts";

/**
 * Bytes of one answer that are held in memory. An answer that outgrows them commits at that moment and then streams:
 * a source that waits for `drain` would otherwise wait forever.
 */
export const HELD_BYTES = 1024 * 1024;

/** What an answer will be once COMMIT lets it out. */
export interface Answer {
  readonly status: number;
  /** The headers set since the hold began, by lower-case name. */
  readonly headers: OutgoingHttpHeaders;
  /** Undefined where the answer had outgrown {@link HELD_BYTES} or is a stream: only a part of it is known. */
  readonly body: Buffer | undefined;
}

export interface HoldHooks {
  /**
   * Sends COMMIT; called when an answer below 400 has ended (or has outgrown what is held).
   * @param answer reads the answer, for those who store it in the same transaction
   */
  commit(answer: () => Answer): Promise<void>;
  /** Rolls back, because the answer is 400 or above, the client hung up, or an error was thrown. May be called again. */
  rollback(): Promise<void>;
  /** COMMIT failed, and the intended answer is gone with all its headers: answers with the problem instead. */
  fail(error: unknown): void;
  /** Told of what nobody can be answered about. */
  log(message: string, error?: unknown): void;
}

/**
 * - `holding` bytes are kept, and the answer may still be replaced.
 * - `settling` COMMIT or ROLLBACK is under way. An ended answer is sealed: later changes are ignored.
 * - `open` everything passes through to Node.
 */
type Phase = "holding" | "settling" | "open";

/** Node's own methods, or those of middleware that wrapped them before. */
type Native = Record<
  "write" | "end" | "writeHead" | "flushHeaders" | "setHeader" | "appendHeader" | "removeHeader",
  (this: ServerResponse, ...args: unknown[]) => unknown
>;

export interface Hold {
  readonly hooks: HoldHooks;
  readonly native: Native;
  readonly before: Head;
  readonly body: HeldBody;
  phase: Phase;
  status: number;
  /** Something of a body or an explicit head exists: an error's answer replaces it. */
  hasBegun: boolean;
  isEnded: boolean;
  /** The answer is an error's: roll back, whatever its status. */
  hasFailed: boolean;
}

export const HOLD = Symbol("rowhouse.hold");
export type HeldResponse = ServerResponse & { [HOLD]: Hold };

export function tryHold(response: ServerResponse): Hold | undefined {
  return (response as Partial<HeldResponse>)[HOLD];
}

export async function settle(response: HeldResponse, hold: Hold): Promise<void> {
  try {
    await decide(response, hold);
  } catch (error) {
    takeBack(response, hold);
    if (isGone(response)) return hold.hooks.log("COMMIT failed, and the client had hung up meanwhile.", error);
    return askForProblem(response, hold, error);
  }
  release(response, hold);
}

function askForProblem(response: ServerResponse, hold: Hold, error: unknown): void {
  try {
    hold.hooks.fail(error);
  } catch (failure) {
    hold.hooks.log("The problem could not be answered.", failure);
    hold.phase = "open";
    response.destroy();
  }
}

export function decide(response: ServerResponse, hold: Hold): Promise<void> {
  const { hooks } = hold;
  hold.phase = "settling";
  if (hold.status >= 400 || hold.hasFailed) return hooks.rollback();
  if (!isGone(response)) return hooks.commit(() => readAnswer(response, hold));
  hooks.log("The client hung up before COMMIT: rolled back.");
  return hooks.rollback();
}

export function release(response: ServerResponse, hold: Hold): void {
  hold.phase = "open";
  const body = takeBody(hold.body);
  if (response.destroyed) return;
  try {
    if (hold.isEnded) hold.native.end.call(response, body);
    // True: the socket took it all, so Node will not say `drain`, and the source waits for one.
    else if (body && hold.native.write.call(response, body)) response.emit("drain");
  } catch (error) {
    hold.hooks.log("The answer could not be sent.", error);
    response.destroy();
  }
}

/** Undoes the intended answer after a COMMIT that failed. */
export function takeBack(response: ServerResponse, hold: Hold): void {
  hold.isEnded = false;
  restart(response, hold);
  hold.hasFailed = true;
  hold.phase = isGone(response) ? "open" : "holding";
}

export function restart(response: ServerResponse, hold: Hold): void {
  takeBody(hold.body);
  hold.hasBegun = false;
  restoreHead(response, hold.before);
  hold.status = hold.before.status;
}

/** Neither end nor destroy tells of a pipelined response whose turn has not come: only its socket knows. */
function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed || !response.req.socket.writable;
}

export function hungUp(this: ServerResponse): void {
  const hold = tryHold(this);
  if (hold?.phase !== "holding") return;
  hold.phase = "open";
  takeBody(hold.body);
  hold.hooks.log("The client hung up before COMMIT: rolled back.");
  void hold.hooks.rollback();
}

function readAnswer(response: ServerResponse, hold: Hold): Answer {
  const body = hold.isEnded && hold.body.size <= HELD_BYTES ? copyBody(hold.body) : undefined;
  return { status: hold.status, headers: changedHeaders(response, hold.before), body };
}
