import { hash } from "node:crypto";
import type { Request, Response } from "express";
import { ResourceNotFound } from "../errors.ts";

/** A handler's result with a status or headers of its own. Made by {@link created}, {@link noContent}, {@link json}. */
export interface Reply<Body> {
  readonly [REPLY]: true;
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
}

const REPLY = Symbol("rowhouse.reply");

interface ReplyOptions {
  /** @defaultValue 200 */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** JSON with a status or headers other than the usual. */
export function json<Body>(body: Body, { status = 200, headers = {} }: ReplyOptions = {}): Reply<Body> {
  return { [REPLY]: true, status, body, headers };
}

/**
 * 201 with what was made.
 * @param location the new resource's path, for the `Location` header
 */
export function created<Body>(body: Body, location?: string): Reply<Body> {
  return json(body, { status: 201, headers: location === undefined ? {} : { Location: location } });
}

/** 204: done, nothing to say. */
export function noContent(): Reply<undefined> {
  return json(undefined, { status: 204 });
}

/**
 * The row that a query was to find, or a 404. Another tenant's row is as missing as one that never was.
 * @param result a row or undefined, or the rows of a query for one row
 * @throws ResourceNotFound
 */
export function found<Row>(result: Row | readonly Row[] | undefined | null): Row {
  const row = Array.isArray(result) ? (result as readonly Row[])[0] : (result as Row | undefined | null);
  if (row === undefined || row === null) throw new ResourceNotFound("There is no such resource.");
  return row;
}

/** Statuses whose answers have no body (RFC 9110, section 15). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends a handler's result. A GET that was asked for with the `ETag` of what it would answer is a 304 (RFC 9110, section 13). */
export function sendReply(request: Request, response: Response, result: unknown): void {
  const reply = isReply(result) ? result : json(result, { status: result === undefined ? 204 : 200 });
  response.statusCode = reply.status;
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
  if (reply.body === undefined || BODILESS.has(reply.status)) {
    response.end();
    return;
  }
  const text = toJson(reply.body);
  if (reply.status === 200 && isRead(request)) {
    if (!response.hasHeader("ETag")) response.setHeader("ETag", weakTag(text));
    // Tells whether the client has this answer already: it compares with the headers that are set on the response.
    if (request.fresh) {
      response.statusCode = 304;
      response.end();
      return;
    }
  }
  if (!response.hasHeader("Content-Type")) response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(text));
  response.end(text);
}

const isRead = ({ method }: Request): boolean => method === "GET" || method === "HEAD";

const weakTag = (text: string): string => `W/"${text.length.toString(16)}-${hash("sha1", text, "base64url")}"`;

function isReply(value: unknown): value is Reply<unknown> {
  return typeof value === "object" && value !== null && REPLY in value;
}

/** With a replacer JSON.stringify() takes several times as long, so it gets one only where a value needs it. */
function toJson(body: unknown): string {
  return isPlain(body, 0) ? JSON.stringify(body) : JSON.stringify(body, jsonValue);
}

/** Deeper than this nothing is looked at: a cycle ends here, and JSON.stringify() says so. */
const DEPTH = 20;

/** True when neither a bigint nor bytes are in the value, nor may come out of a `toJSON()` of its own. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  if (value instanceof Date) return true;
  if (depth === DEPTH || value instanceof Uint8Array || "toJSON" in value) return false;
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}

/** A bigint as a string, since JSON numbers lose digits beyond 2^53; bytes as base64. Dates are ISO 8601 already. */
function jsonValue(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  const original = (this as Record<string, unknown>)[key];
  return original instanceof Uint8Array ? Buffer.from(original).toString("base64") : value;
}
