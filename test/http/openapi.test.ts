import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { features } from "../../examples/invoicing/src/app.ts";
import { defineFeature, type Feature } from "../../src/http/feature.ts";
import { toOpenApi } from "../../src/http/openapi.ts";

// Checked with the OpenAPI Initiative's own schema of 3.1 (https://spec.openapis.org/oas/3.1/schema/2022-10-07).

const INFO = { title: "Test", version: "1.0.0" };

const documentOf = (...of: readonly Feature[]) =>
  toOpenApi(
    of.flatMap((feature) => feature.routes),
    INFO,
  );

async function faultsOf(document: object): Promise<unknown> {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as Record<string, unknown>);
  expect(validator.version).toBe("3.1");
  return valid ? [] : errors;
}

/** Every kind of thing that a route can declare. */
const everything = defineFeature({
  name: "everything",
  tables: {},
  routes(route) {
    const params = { id: z.uuid() };
    route.get("/things", { query: { page: z.coerce.number().int().optional(), all: z.stringbool() } }, () => []);
    route.get("/things/:id", { params, response: z.object({ at: z.date(), n: z.bigint().nullable() }) }, () => ({}));
    route.post("/things", { body: z.object({ tags: z.array(z.string().max(5)), on: z.iso.date() }) }, () => ({}));
    route.put("/things/:id", { params, body: z.union([z.string(), z.null()]), summary: "Replaces" }, () => ({}));
    route.patch("/things/:id", { params, body: z.record(z.string(), z.unknown()), scopes: ["write"] }, () => ({}));
    route.delete("/things/:id", { params, transaction: "none" }, () => undefined);
    route.get("/things-of/:id", { params }, () => ({}));
    route.get("/things/of/:id", { params }, () => ({}));
    route.get("/files/*path", { params: { path: z.array(z.string()) } }, () => ({}));
  },
});

describe("the OpenAPI document", () => {
  it.each([
    ["the example", documentOf(...features)],
    ["every kind of route", documentOf(everything)],
    ["no route", documentOf()],
  ])("is valid for %s", async (_of, document) => {
    expect(await faultsOf(document)).toEqual([]);
  });

  it("would be found out if it were not", async () => {
    expect(await faultsOf({ ...documentOf(), paths: { "/x": { get: { responses: 5 } } } })).not.toEqual([]);
  });

  it("names each operation once", () => {
    const { paths } = documentOf(everything) as { paths: Record<string, Record<string, { operationId: string }>> };
    const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    expect(ids).toHaveLength(9);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("declares a parameter for each name in a path", () => {
    const { paths } = documentOf(everything) as { paths: Record<string, Record<string, { parameters?: object[] }>> };
    for (const [path, operations] of Object.entries(paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => expect.objectContaining({ name, in: "path" }));
      for (const { parameters = [] } of Object.values(operations)) {
        expect(parameters).toEqual(expect.arrayContaining(named));
      }
    }
    expect(Object.keys(paths)).toContain("/files/{path}");
  });
});
