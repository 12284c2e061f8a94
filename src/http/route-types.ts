import type { IncomingHttpHeaders } from "node:http";
import type { Logger } from "pino";
import type { z } from "zod";
import type { Principal } from "../auth/principal.ts";
import type { TenantDb } from "../database/types.ts";
import type { Tenant } from "../tenancy/tenant.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/**
 * - `read only` and `read write`: the handler runs in the request's transaction.
 * - `none`: it holds none, and opens short ones itself with `transaction()`; for handlers that wait on the outside world.
 */
export type TransactionMode = "read only" | "read write" | "none";

/** How `rowhouse probe` calls the route: what a valid request holds beside the ids, or why it cannot be probed. */
export type Probe =
  { readonly body?: unknown; readonly query?: Readonly<Record<string, string>> } | { readonly skip: string };

type Shape = z.ZodRawShape;
type Output<Fields extends Shape> = z.output<z.ZodObject<Fields>>;

export interface RouteOptions<
  Params extends Shape,
  Query extends Shape,
  Body extends z.ZodType,
  Mode extends TransactionMode,
> {
  /** A schema for each `:name` of the path. Ids are `idOf(table)`, so that the probes know whose they are. */
  readonly params?: Params;
  /** Query parameters; those without a schema are ignored. */
  readonly query?: Query;
  /** The JSON body. */
  readonly body?: Body;
  /** The caller needs all of them; without any, a request needs no principal. */
  readonly scopes?: readonly string[];
  /** @defaultValue `read only` for GET, `read write` for the others */
  readonly transaction?: Mode;
  readonly probe?: Probe;
  /** For the OpenAPI document. */
  readonly response?: z.ZodType;
  /** For the OpenAPI document. */
  readonly summary?: string;
}

interface BaseInput<Params extends Shape, Query extends Shape, Body extends z.ZodType> {
  readonly params: Output<Params>;
  readonly query: Output<Query>;
  readonly body: z.output<Body>;
  readonly tenant: Tenant;
  readonly principal: Principal | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly log: Logger;
  /** Aborts when the client hangs up. */
  readonly signal: AbortSignal;
}

interface InTransaction {
  /** The tenant's transaction. It begins with the first query and is committed before the response. */
  readonly db: TenantDb;
  /** Runs the hook once the transaction has been committed, and never otherwise. */
  afterCommit(hook: () => void | Promise<void>): void;
}

interface OutsideTransaction {
  /** Opens a short transaction of the tenant and commits it when `work` resolves. */
  transaction<Result>(work: (db: TenantDb) => Promise<Result>): Promise<Result>;
}

export type HandlerInput<
  Params extends Shape,
  Query extends Shape,
  Body extends z.ZodType,
  Mode extends TransactionMode,
> = BaseInput<Params, Query, Body> & ([Mode] extends ["none"] ? OutsideTransaction : InTransaction);

type NoFields = Record<never, never>;

/** Declares one route: `route.get("/orders/:id", { params: { id: idOf(orders) } }, async ({ db, params }) => …)`. */
export type DeclareRoute = <
  Params extends Shape = NoFields,
  Query extends Shape = NoFields,
  Body extends z.ZodType = z.ZodUndefined,
  Mode extends TransactionMode = "read write",
>(
  path: string,
  options: RouteOptions<Params, Query, Body, Mode>,
  handler: (input: HandlerInput<Params, Query, Body, Mode>) => unknown,
) => void;

/** What `routes(route)` of a feature gets. */
export type RouteBuilder = Readonly<Record<Method, DeclareRoute>>;

/** A declared route with everything that is known of it: what OpenAPI and the probes read. */
export interface RouteDefinition {
  readonly feature: string;
  readonly method: Method;
  readonly path: string;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | undefined;
  readonly scopes: readonly string[];
  readonly transaction: TransactionMode;
  readonly probe: Probe | undefined;
  readonly response: z.ZodType | undefined;
  readonly summary: string | undefined;
  readonly handler: (input: never) => unknown;
}
