import { IncomingMessage, ServerResponse, type ServerOptions } from "node:http";
import type { Express } from "express";

/**
 * The classes of an application's requests and responses, for `http.createServer()`.
 *
 * Express gives every request and response that Node made another prototype. V8 gives such an object a shape of its own, and
 * each property added to it later costs microseconds instead of nanoseconds. Made with the application's prototype from the
 * start, they stay cheap: Express finds nothing to change.
 */
export function messageClasses(app: Express): Pick<ServerOptions, "IncomingMessage" | "ServerResponse"> {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as Express["request"];
  app.response = AppResponse.prototype as Express["response"];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse } as unknown as ServerOptions;
}
