// One contender in a process of its own: `tsx http-server.ts NAME APP_URL OWNER_URL`. Tells its port to the parent.
import { type Contender, serve } from "./contenders.ts";

const [name, appUrl = "", ownerUrl = ""] = process.argv.slice(2);
process.send?.({ port: await serve(name as Contender, { appUrl, ownerUrl }) });
process.on("message", (message) => {
  if (message === "cpu") process.send?.({ cpu: process.cpuUsage() });
  if (message === "memory") {
    globalThis.gc?.();
    process.send?.({ memory: process.memoryUsage() });
  }
});
process.on("disconnect", () => process.exit(0));
