import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { TenantResolver } from "../tenancy/resolver.ts";
import type { BuiltRequest } from "./probe-request.ts";

export interface Answer {
  readonly status: number;
  /** The whole answer but `X-Request-Id`, `Date` and the request id in a problem document. */
  readonly text: string;
  readonly body: string;
}

/** Sends a request as a tenant. */
export type Ask = (tenant: { readonly id: string }, request: BuiltRequest) => Promise<Answer>;

/** How long an answer may take, in milliseconds. A stream would never end. */
const ANSWER_TIMEOUT = 10_000;

/**
 * The probe's own way in: whoever knows the secret names a tenant and has the scopes. It exists in the probe's instance
 * of the application only.
 */
export function probeResolver(secret: string, scopes: readonly string[]): TenantResolver {
  return {
    name: "probe",
    resolve({ headers }) {
      const [given, id = ""] = String(headers["x-probe"]).split(" ");
      if (given !== secret) return Promise.resolve(undefined);
      return Promise.resolve({ tenant: { by: "id", id }, principal: { kind: "user", id: "probe", scopes } });
    },
  };
}

/** @param origin where the application listens, as in `http://127.0.0.1:3000` */
export function createProbeClient(origin: string, secret: string): Ask {
  // Not fetch: it would hide headers' bytes, and connects once more after a request that it gave up.
  const agent = new Agent({ keepAlive: true });
  return async function ask(tenant, { method, path, query, body }) {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT);
    try {
      const outgoing = request(`${origin}${path}${query === "" ? "" : `?${query}`}`, {
        method,
        agent,
        signal,
        headers: {
          "x-probe": `${secret} ${tenant.id}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
      });
      // What comes after the head is the answer's error, and told there.
      outgoing.on("error", () => {});
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
      const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
      return toAnswer(incoming, await text(incoming));
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  };
}

function toAnswer({ statusCode: status = 0, headers, rawHeaders }: IncomingMessage, whole: string): Answer {
  const requestId = String(headers["x-request-id"] ?? "");
  const body = requestId === "" ? whole : whole.replaceAll(requestId, "");
  const compared = rawHeaders.flatMap((name, at) =>
    at % 2 === 1 || /^(?:x-request-id|date)$/i.test(name) ? [] : [[name, rawHeaders[at + 1]]],
  );
  return { status, body, text: JSON.stringify([status, compared, body]) };
}

/** True for an answer that had not ended in time. */
export const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === "TimeoutError";

export const shown = ({ status, body }: Answer): string => `${status} ${body.slice(0, 200)}`.trimEnd();
