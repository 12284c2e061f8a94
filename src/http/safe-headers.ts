import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { RequestHandler } from "express";
import helmet from "helmet";

/** Helmet's headers. They are the same for every answer, so they are worked out once. */
export function safeHeaders(): RequestHandler {
  const headers: [name: string, value: string][] = [];
  class Sample extends ServerResponse {
    override setHeader(name: string, value: string): this {
      headers.push([name, value]);
      return this;
    }
  }
  const request = new IncomingMessage(new Socket());
  helmet()(request, new Sample(request), () => {});
  return function safeHeaders(_request, response, next) {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
