import { defineConfig } from "drizzle-kit";

/** For the example: `npx drizzle-kit generate`, with NODE_OPTIONS=--conditions=rowhouse-source in this repository. */
export default defineConfig({
  dialect: "postgresql",
  schema: "./examples/invoicing/src/tables.ts",
  out: "./examples/invoicing/migrations",
});
