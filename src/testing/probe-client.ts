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
  return async function ask(tenant, { method, path, query, body }) {
    const response = await fetch(`${origin}${path}${query === "" ? "" : `?${query}`}`, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT),
      headers: {
        "x-probe": `${secret} ${tenant.id}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const requestId = response.headers.get("x-request-id") ?? "";
    const text = (await response.text()).replaceAll(requestId, "");
    const headers = [...response.headers].filter(([name]) => name !== "x-request-id" && name !== "date");
    return { status: response.status, body: text, text: JSON.stringify([response.status, headers, text]) };
  };
}

/** True for an answer that had not ended in time. */
export const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === "TimeoutError";

export const shown = ({ status, body }: Answer): string => `${status} ${body.slice(0, 200)}`.trimEnd();
