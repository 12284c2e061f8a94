import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import * as errors from "../src/errors.ts";
import { statusOf } from "../src/http/problem.ts";
import * as index from "../src/index.ts";

type Made = errors.RowhouseError & { readonly code: errors.RowhouseErrorCode };

/** One error of every class that can be made. */
const all: Made[] = Object.values(errors)
  .map((Class) => new (Class as unknown as new (message: string, details: object) => Made)("message", {}))
  .filter((error) => error.code !== undefined);

it("has a class for every code, and a code for every class", () => {
  expect(new Set(all.map((error) => error.code)).size).toBe(all.length);
  expect(all.length).toBeGreaterThan(30);
});

it("is documented in docs/errors.md with the status it is answered with", async () => {
  const page = await readFile(new URL("../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(ERR_\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => `${code} ${status}`);
  expect(rows.sort()).toEqual(all.map((error) => `${error.code} ${statusOf(error)}`).sort());
});

it("is exported, so that an application can tell one from another", () => {
  for (const error of all) expect(index).toHaveProperty(error.name);
});

it("keeps its cause and names its class", () => {
  const cause = new Error("why");
  const error = new errors.TenantNotFound("There is no such tenant.", { cause });
  expect(error).toMatchObject({ name: "TenantNotFound", code: "ERR_TENANT_NOT_FOUND", cause });
  expect(error).toBeInstanceOf(errors.RowhouseError);
});
