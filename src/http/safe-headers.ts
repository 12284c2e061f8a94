import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { RequestHandler } from "express";
import helmet from "helmet";

/** Helmet's headers. They are the same for every answer, so they are worked out once. */
export function safeHeaders(): RequestHandler {
  const request = new IncomingMessage(new Socket());
  const sample = new ServerResponse(request);
  helmet()(request, sample, () => {});
  const headers = sample.getHeaderNames().map((name) => [name, sample.getHeader(name)] as [string, string]);
  return function safeHeaders(_request, response, next) {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
