import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Express } from "express";
import { messageClasses } from "./message-classes.ts";

export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly port: number;
  /** Takes no new connection, finishes what is in flight, and after the deadline cuts off what is left. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly port: number;
  /** @defaultValue every address */
  readonly host?: string | undefined;
}

/** How long requests in flight may take to finish at shutdown, in milliseconds. */
const SHUTDOWN_DEADLINE_MS = 25_000;

/**
 * Serves an application until it is closed. The caller decides when: on SIGTERM, as a rule.
 * @throws the listen error (EADDRINUSE, EACCES)
 */
export async function listen(application: Express, { port, host }: ListenOptions): Promise<RunningServer> {
  const server = createServer(messageClasses(application), application);
  // A client that sends its head or its body at a crawl holds a socket, not a transaction; but not for ever.
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
  // Above the idle timeout of the usual load balancers (60 s), or they would reuse a connection that is being closed.
  server.keepAliveTimeout = 65_000;
  const silent = silentConnections(server);
  let stopping: Promise<void> | undefined;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host ?? "127.0.0.1"}:${actual}`,
    port: actual,
    close: () => (stopping ??= closeGracefully(server, silent)),
  };
}

function closeGracefully(server: Server, silent: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), SHUTDOWN_DEADLINE_MS);
    // Kept-alive connections that wait for a next request would hold the server open; those at work close when answered.
    const sweep = setInterval(() => server.closeIdleConnections(), 100);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
    // Node does not count these as idle: they have never sent a request.
    for (const socket of silent) socket.destroy();
  });
}

/** The connections on which no request has come yet. */
function silentConnections(server: Server): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  server.on("connection", (socket) => {
    silent.add(socket);
    socket.once("close", () => silent.delete(socket));
  });
  server.on("request", ({ socket }) => silent.delete(socket));
  return silent;
}
