import { type ServerResponse, validateHeaderValue } from "node:http";
import {
  HELD_BYTES,
  HOLD,
  type Hold,
  type HeldResponse,
  type HoldHooks,
  decide,
  hungUp,
  release,
  restart,
  settle,
  takeBack,
  tryHold,
} from "./held-answer.ts";
import { addChunk } from "./held-body.ts";
import { takeHead } from "./response-head.ts";

/**
 * Makes the end of a response an intent: nothing reaches the client until COMMIT has answered.
 *
 * - below 400: COMMIT, then the bytes; 400 and above, or a client that hung up before COMMIT was sent: ROLLBACK.
 * - a COMMIT that fails takes the status, the body and every header set since the hold began with it; `hooks.fail` then
 *   writes the answer.
 * - `headersSent` says what is on the wire, so it stays false, and an error handler may still answer in place of a body
 *   that was begun with `write()`: a status of 400 or above drops what was begun.
 * - `writableEnded` is true from `end()` on. From then on the answer is sealed: another `end()`, `write()`, status or
 *   header changes nothing, and is no error.
 *
 * The methods are own properties, because a mounted express application swaps the response's prototype.
 */
export function holdResponse(response: ServerResponse, hooks: HoldHooks): void {
  const hold: Hold = {
    hooks,
    native: nativeMethods(response),
    before: takeHead(response),
    body: { chunks: [], size: 0 },
    phase: "holding",
    status: response.statusCode,
    hasBegun: false,
    isEnded: false,
    hasFailed: false,
  };
  Object.assign(response, { [HOLD]: hold }, HELD_METHODS);
  Object.defineProperty(response, "statusCode", STATUS_CODE);
  Object.defineProperty(response, "writableEnded", WRITABLE_ENDED);
  response.once("close", hungUp);
}

/**
 * For error handlers: drops the answer that was intended so far (body, status and every header set since the hold began)
 * so that the error's own may be written, and makes sure that the transaction is rolled back whatever that answer is.
 *
 * @returns false where no answer can be written any more. Log the error and do nothing else: an answer that was complete
 * stands, and one that broke off on the wire has been cut, so that the client does not take it for complete.
 */
export function abandonAnswer(response: ServerResponse): boolean {
  const hold = tryHold(response);
  if (response.destroyed || response.writableEnded) return false;
  if (hold?.phase === "holding") {
    restart(response, hold);
    hold.hasFailed = true;
    return true;
  }
  // COMMIT of a part was sent, or its bytes: neither a failure nor a success would be true.
  if (hold?.phase === "settling" || response.headersSent) {
    response.destroy();
    return false;
  }
  return true;
}

/**
 * Commits now, before anything was answered, and lets everything after it through: for answers that are streams.
 * @throws what COMMIT threw; the response may then be answered with the problem
 */
export async function commitAnswer(response: ServerResponse): Promise<void> {
  const hold = tryHold(response);
  if (hold?.phase !== "holding") return;
  try {
    await decide(response, hold);
  } catch (error) {
    takeBack(response, hold);
    throw error;
  }
  release(response, hold);
}

type Callback = (error?: Error | null) => void;

/** Whether a call goes straight to Node: always at the end, and for a response whose socket is gone. */
function passes(response: ServerResponse, hold: Hold): boolean {
  return hold.phase === "open" || response.destroyed;
}

function write(this: HeldResponse, ...args: unknown[]): boolean {
  const hold = this[HOLD];
  const [chunk, encoding, callback] = bodyArguments(args);
  if (this.writableEnded) return refuse(hold, callback);
  if (passes(this, hold)) return hold.native.write.apply(this, args) as boolean;
  // Whoever waits for the callback before going on would wait for a COMMIT that waits for them. It allows them to use
  // the buffer again, so what is kept must be a copy.
  addChunk(hold.body, callback && chunk instanceof Uint8Array ? Uint8Array.from(chunk) : chunk, encoding);
  hold.hasBegun = true;
  if (callback) process.nextTick(callback);
  if (hold.phase === "settling") return false;
  if (hold.body.size <= HELD_BYTES) return true;
  void settle(this, hold);
  return false;
}

function end(this: HeldResponse, ...args: unknown[]): ServerResponse {
  const hold = this[HOLD];
  const [chunk, encoding, callback] = bodyArguments(args);
  if (this.writableEnded) {
    if (chunk) refuse(hold, callback);
    else if (this.writableFinished) hold.native.end.call(this, callback);
    else if (callback) this.once("finish", callback);
    return this;
  }
  if (passes(this, hold)) return hold.native.end.apply(this, args) as ServerResponse;
  assertHead(this);
  if (chunk) addChunk(hold.body, chunk, encoding);
  hold.isEnded = true;
  if (callback) this.once("finish", callback);
  if (hold.phase === "holding") void settle(this, hold);
  return this;
}

/** What comes after the end of an answer is dropped: Node would end the process with an unhandled `error` event. */
function refuse(hold: Hold, callback: Callback | undefined): false {
  hold.hooks.log("A response was written to after its end, most likely answered twice: ignored.");
  const error = Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" });
  if (callback) process.nextTick(callback, error);
  return false;
}

const isFunction = (arg: unknown): boolean => typeof arg === "function";

/** write() and end() take (callback), (chunk, callback) or (chunk, encoding, callback). */
function bodyArguments(args: unknown[]): [chunk: unknown, encoding: unknown, callback: Callback | undefined] {
  const at = args.findIndex(isFunction);
  return [at === 0 ? undefined : args[0], at === 0 || at === 1 ? undefined : args[1], args[at] as Callback | undefined];
}

/** Keeps the head as an intent. What Node would refuse is refused here already: after COMMIT it would be too late. */
function writeHead(this: HeldResponse, ...args: unknown[]): ServerResponse {
  const hold = this[HOLD];
  if (passes(this, hold)) return hold.native.writeHead.apply(this, args) as ServerResponse;
  if (hold.isEnded) return this;
  const [status, ...rest] = args;
  const message = typeof rest[0] === "string" ? (rest.shift() as string) : undefined;
  this.statusCode = status as number;
  if (message !== undefined) this.statusMessage = message;
  assertHead(this);
  for (const [name, value] of headerPairs(rest.find((fields) => fields !== undefined && fields !== null))) {
    this.setHeader(name, value as string);
  }
  hold.hasBegun = true;
  return this;
}

/** Headers come as an object, as pairs, or flat: name, value, name, value. */
function headerPairs(fields: unknown): Iterable<[string, unknown]> {
  if (!Array.isArray(fields)) return Object.entries(fields ?? {});
  if (Array.isArray(fields[0])) return fields as [string, unknown][];
  return fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1]] as [string, unknown]] : []));
}

/** @throws RangeError or TypeError with Node's codes for a status or a status message that cannot be sent */
function assertHead({ statusCode, statusMessage }: ServerResponse): void {
  if (!(statusCode >= 100 && statusCode <= 999)) {
    throw Object.assign(new RangeError(`Invalid status code: ${String(statusCode)}`), {
      code: "ERR_HTTP_INVALID_STATUS_CODE",
    });
  }
  if (statusMessage) validateHeaderValue("statusMessage", statusMessage);
}

function flushHeaders(this: HeldResponse): void {
  const hold = this[HOLD];
  if (passes(this, hold)) hold.native.flushHeaders.call(this);
}

/** A method that changes the head: without effect once the answer is sealed. */
function sealable(name: "setHeader" | "appendHeader" | "removeHeader") {
  return function (this: HeldResponse, ...args: unknown[]): unknown {
    const hold = this[HOLD];
    return hold.isEnded && hold.phase !== "open" ? this : hold.native[name].apply(this, args);
  };
}

function setStatus(this: HeldResponse, status: number): void {
  const hold = this[HOLD];
  if (hold.phase !== "open") {
    if (hold.isEnded) return;
    if (hold.hasBegun && status >= 400 && status !== hold.status) {
      // An error handler speaks up. Where COMMIT of a part is under way, no answer would be true: cut it.
      if (hold.phase === "settling") this.destroy();
      else restart(this, hold);
    }
  }
  hold.status = status;
}

const HELD_METHODS = {
  write,
  end,
  writeHead,
  flushHeaders,
  setHeader: sealable("setHeader"),
  appendHeader: sealable("appendHeader"),
  removeHeader: sealable("removeHeader"),
};

/* eslint-disable @typescript-eslint/unbound-method -- they are called with the response as `this` */
function nativeMethods(response: ServerResponse): Hold["native"] {
  const { write, end, writeHead, flushHeaders, setHeader, appendHeader, removeHeader } = response;
  return { write, end, writeHead, flushHeaders, setHeader, appendHeader, removeHeader } as Hold["native"];
}
/* eslint-enable @typescript-eslint/unbound-method */

const STATUS_CODE = {
  get(this: HeldResponse) {
    return this[HOLD].status;
  },
  set: setStatus,
  configurable: true,
  enumerable: true,
};

const WRITABLE_ENDED = {
  get(this: HeldResponse) {
    return this[HOLD].isEnded || Boolean((this as { finished?: boolean }).finished);
  },
  configurable: true,
};
