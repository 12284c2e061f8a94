/** What is kept of a failed attempt. */
export interface Failure {
  readonly message: string;
  readonly stack?: string;
}

const MAX_MESSAGE = 2_000;
const MAX_STACK = 8_000;
/** Errors behind errors, at the most. */
const MAX_CAUSES = 5;

/**
 * Whatever was thrown, in a form that can be stored: never throws itself, and has no character that PostgreSQL's jsonb refuses.
 * A failure that could not be recorded would come again for ever.
 */
export function failureOf(thrown: unknown): Failure {
  const message = clean(messageOf(thrown), MAX_MESSAGE);
  const stack = clean(stacksOf(thrown), MAX_STACK);
  return stack === "" ? { message } : { message, stack };
}

function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
    if (typeof thrown === "string") return thrown;
    if (typeof thrown === "object" && thrown !== null) return JSON.stringify(thrown, printable());
    return String(thrown);
  } catch {
    return `a ${typeof thrown} was thrown that cannot be described`;
  }
}

/** For JSON.stringify: bigints as text, and an object inside itself as a word. */
function printable(): (this: unknown, key: string, value: unknown) => unknown {
  const parents: unknown[] = [];
  return function replace(this: unknown, _key, value) {
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value !== "object" || value === null) return value;
    // What is no longer around this value is not its parent.
    while (parents.length > 0 && parents.at(-1) !== this) parents.pop();
    if (parents.includes(value)) return "[circular]";
    parents.push(value);
    return value;
  };
}

function stacksOf(thrown: unknown): string {
  const stacks: string[] = [];
  try {
    for (let at = thrown; at instanceof Error && stacks.length < MAX_CAUSES; at = at.cause) {
      stacks.push(at.stack ?? messageOf(at));
    }
  } catch {
    // A getter that throws: what was collected has to do.
  }
  return stacks.join("\ncaused by ");
}

/** Cuts first: a message may have megabytes. */
const clean = (text: string, length: number): string =>
  String(text).slice(0, length).toWellFormed().replaceAll("\0", "\u2400");
