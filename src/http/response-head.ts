import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

/** A response's status and headers at one moment. */
export interface Head {
  readonly status: number;
  readonly statusMessage: string;
  readonly sendDate: boolean;
  /** By lower-case name. */
  readonly headers: OutgoingHttpHeaders;
}

export function takeHead(response: ServerResponse): Head {
  const { statusCode: status, statusMessage, sendDate } = response;
  return { status, statusMessage, sendDate, headers: response.getHeaders() };
}

/** The headers that were added or changed since. */
export function changedHeaders(response: ServerResponse, before: Head): OutgoingHttpHeaders {
  const now = response.getHeaders();
  return Object.fromEntries(Object.entries(now).filter(([name, value]) => before.headers[name] !== value));
}

/** Puts the headers back as they were; the status is the caller's. */
export function restoreHead(response: ServerResponse, before: Head): void {
  for (const name of response.getHeaderNames()) {
    if (!(name in before.headers)) response.removeHeader(name);
  }
  for (const [name, value] of Object.entries(before.headers)) {
    if (value !== undefined && response.getHeader(name) !== value) response.setHeader(name, value);
  }
  response.statusMessage = before.statusMessage;
  response.sendDate = before.sendDate;
}
