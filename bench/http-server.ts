// One contender in a process of its own: `tsx http-server.ts NAME APP_URL OWNER_URL`. Tells its port to the parent.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Contender, makeContender } from "./contenders.ts";

const [name, appUrl = "", ownerUrl = ""] = process.argv.slice(2);
const server = createServer(await makeContender(name as Contender, { appUrl, ownerUrl }));
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("message", (message) => {
  if (message === "cpu") process.send?.({ cpu: process.cpuUsage() });
  if (message === "memory") {
    globalThis.gc?.();
    process.send?.({ memory: process.memoryUsage() });
  }
});
process.on("disconnect", () => process.exit(0));
