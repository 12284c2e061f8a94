import { JobInvalid } from "../errors.ts";

/** Bytes of a payload as JSON, at the most: what is larger belongs in a table, and the payload says where. */
const MAX_PAYLOAD_BYTES = 64 * 1024;

/** What stands in JSON for values that JSON has no form for. */
const DATE = "$date";
const BIGINT = "$bigint";
/** In front of a key of the payload's own that looks like one of these. */
const ESCAPE = "$$";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * A payload as JSON that PostgreSQL's jsonb takes: dates and bigints in a form that {@link decodePayload} turns back.
 *
 * @param job the job's name, for messages
 * @throws JobInvalid for what would not come back as it was (functions, NaN, NUL, lone surrogates, circles, classes), with its path,
 *   and for more than 64 KiB
 */
export function encodePayload(job: string, payload: unknown): Json {
  const encoded = encode(job, payload, "payload", []);
  const bytes = Buffer.byteLength(JSON.stringify(encoded));
  if (bytes <= MAX_PAYLOAD_BYTES) return encoded;
  throw new JobInvalid(
    `The payload of job "${job}" has ${bytes} bytes, and may have ${MAX_PAYLOAD_BYTES}. Store the data in a table and enqueue its id.`,
  );
}

function encode(job: string, value: unknown, path: string, parents: readonly object[]): Json {
  const refuse = (what: string) => new JobInvalid(`${path} of job "${job}" is ${what}, which cannot be stored.`);
  switch (typeof value) {
    case "string":
      // PostgreSQL's jsonb has neither (https://www.postgresql.org/docs/current/datatype-json.html).
      if (value.includes("\0")) throw refuse("a string with a NUL character");
      if (!value.isWellFormed()) throw refuse("a string with half of a surrogate pair");
      return value;
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw refuse(String(value));
    case "bigint":
      return { [BIGINT]: value.toString() };
    case "object":
      break;
    default:
      throw refuse(value === undefined ? "undefined" : `a ${typeof value}`);
  }
  if (value === null) return null;
  if (parents.includes(value)) throw refuse("part of a circle");
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw refuse("an invalid date");
    return { [DATE]: value.toISOString() };
  }
  const inside = [...parents, value];
  if (Array.isArray(value)) return value.map((item, index) => encode(job, item, `${path}[${index}]`, inside));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw refuse(`a ${value.constructor.name}`);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.map(([key, item]) => {
      encode(job, key, `a key of ${path}`, []);
      return [key.startsWith("$") ? ESCAPE + key.slice(1) : key, encode(job, item, `${path}.${key}`, inside)];
    }),
  );
}

/** Turns what {@link encodePayload} made back into what it was. */
export function decodePayload(stored: Json): unknown {
  if (typeof stored !== "object" || stored === null) return stored;
  if (Array.isArray(stored)) return stored.map(decodePayload);
  const entries = Object.entries(stored);
  const [first] = entries;
  if (entries.length === 1 && first) {
    if (first[0] === DATE) return new Date(first[1] as string);
    if (first[0] === BIGINT) return BigInt(first[1] as string);
  }
  return Object.fromEntries(
    entries.map(([key, item]) => [key.startsWith(ESCAPE) ? `$${key.slice(ESCAPE.length)}` : key, decodePayload(item)]),
  );
}
