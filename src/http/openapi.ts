import { z } from "zod";
import type { RouteDefinition } from "./route-types.ts";

export interface ApiInfo {
  readonly title: string;
  readonly version: string;
}

type JsonObject = Record<string, unknown>;

const toSchema = (schema: z.ZodType, io: "input" | "output"): JsonObject => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io, unrepresentable: "any" });
  return rest;
};

const PROBLEM: JsonObject = {
  type: "object",
  required: ["type", "title", "status", "code"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string" },
    detail: { type: "string" },
    requestId: { type: "string" },
    errors: {
      type: "array",
      items: {
        type: "object",
        required: ["path", "message"],
        properties: { path: { type: "string" }, message: { type: "string" } },
      },
    },
  },
};

const problem = (description: string): JsonObject => ({
  description,
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
});

const IDEMPOTENCY_KEY: JsonObject = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "The same key with the same request gets the same answer again, and is done once.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

/**
 * The OpenAPI document (https://spec.openapis.org/oas/v3.1.1) of the routes, from the schemas that validate them.
 */
export function toOpenApi(routes: readonly RouteDefinition[], info: ApiInfo): JsonObject {
  const paths: Record<string, JsonObject> = {};
  const operationIds = new Set<string>();
  for (const route of routes) {
    const path = route.path.replace(/[:*]([A-Za-z_]\w*)/g, "{$1}");
    (paths[path] ??= {})[route.method] = operation(route, uniqueIn(operationIds, operationId(route)));
  }
  return {
    openapi: "3.1.0",
    info,
    paths,
    components: {
      schemas: { Problem: PROBLEM },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
      },
    },
  };
}

function operation(route: RouteDefinition, operationId: string): JsonObject {
  const parameters = [
    ...parametersOf(route.params, "path"),
    ...parametersOf(route.query, "query"),
    ...(route.method === "post" ? [IDEMPOTENCY_KEY] : []),
  ];
  const { body } = route;
  return {
    operationId,
    tags: [route.feature],
    ...(route.summary === undefined ? {} : { summary: route.summary }),
    ...(route.scopes.length > 0 ? { description: `Needs: ${route.scopes.join(", ")}.` } : {}),
    security: [{ bearer: [] }, { apiKey: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? { requestBody: { required: true, content: { "application/json": { schema: toSchema(body, "input") } } } }
      : {}),
    responses: {
      "2XX": {
        description: "Done",
        ...(route.response ? { content: { "application/json": { schema: toSchema(route.response, "output") } } } : {}),
      },
      "4XX": problem("The request was refused"),
      "5XX": problem("The service failed; where `Retry-After` is set, try again"),
    },
  };
}

function parametersOf(schema: z.ZodObject, place: "path" | "query"): JsonObject[] {
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: place,
    required: place === "path" || !z.safeParse(field as z.ZodType, undefined).success,
    schema: toSchema(field as z.ZodType, "input"),
  }));
}

/** The name itself, or with a number behind it when it is taken: `/a-b` and `/a/b` would be called the same. */
function uniqueIn(taken: Set<string>, name: string): string {
  let unique = name;
  for (let n = 2; taken.has(unique); n++) unique = `${name}${n}`;
  taken.add(unique);
  return unique;
}

/** `GET /orders/:id` of feature orders becomes `getOrdersById`. */
function operationId({ method, path }: RouteDefinition): string {
  const words = path.split("/").filter(Boolean);
  return (
    method +
    words
      .map((word) =>
        /^[:*]/.test(word)
          ? `By${capital(word.slice(1))}`
          : word
              .split(/[^A-Za-z0-9]+/)
              .map(capital)
              .join(""),
      )
      .join("")
  );
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
