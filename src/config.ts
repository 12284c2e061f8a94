import { isIP } from "node:net";
import { z } from "zod";
import { ConfigInvalid } from "./errors.ts";

/** The servers' connection URLs, by what they are used for. Each logs in as another role. */
export interface ServerUrls {
  /** The app role: serves requests. */
  readonly app: string;
  /** The owner role: migrations, backfills, tenants. Processes that only serve requests are better off without it. */
  readonly owner: string | undefined;
  /** The worker role: queue tables across tenants. */
  readonly worker: string | undefined;
  /** A role with CREATEROLE, for provisioning commands only. */
  readonly admin: string | undefined;
  /** The app role past any pooler, for LISTEN and session locks. The same as `app` where there is no pooler. */
  readonly direct: string;
}

/** How bearer tokens are verified: what `createTokenVerifier` takes. */
export type TokenConfig = {
  /** What `iss` must be. */
  readonly issuer: string;
  /** What `aud` must be, or contain. */
  readonly audience: string;
} & (
  { readonly secret: string; readonly jwksUrl?: undefined } | { readonly jwksUrl: string; readonly secret?: undefined }
);

export interface Config {
  /** Undefined: nothing is configured, so the embedded PostgreSQL is used. */
  readonly urls: ServerUrls | undefined;
  /** Where the embedded PostgreSQL keeps its data. @defaultValue ".rowhouse" */
  readonly dataDirectory: string;
  /** What role names begin with: roles belong to the whole server. @defaultValue "rowhouse" */
  readonly rolePrefix: string;
  /** Connections of this process to the application's database, at the most. @defaultValue 10 */
  readonly poolSize: number;
  /** Transactions one tenant may hold at once in this process. @defaultValue half of `poolSize` */
  readonly tenantLimit: number;
  /** False behind a pooler that does not carry prepared statements. @defaultValue true */
  readonly preparedStatements: boolean;
  /** TCP port of the HTTP server; 0 takes any free one. @defaultValue 3000 */
  readonly port: number;
  /** @defaultValue "info" */
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /**
   * Whose `X-Forwarded-…` headers are believed, as Express's `trust proxy`: a number of proxies in front, or their
   * addresses. @defaultValue false, nobody's
   */
  readonly trustProxy: false | number | string[];
  /** Undefined: bearer tokens are not accepted. */
  readonly tokens: TokenConfig | undefined;
}

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const URL_EXAMPLE = "postgres://user:password@host:5432/database";

const given = (issue: { input?: unknown }) => JSON.stringify(issue.input);

// A URL and a secret are never repeated in a message: they hold passwords.
const databaseUrl = z
  .string()
  .refine(isDatabaseUrl, `is not a PostgreSQL URL with a user and a database (${URL_EXAMPLE})`);

const integer = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: (issue) => `must be a whole number from ${min} to ${max}, not ${given(issue)}`,
    })
    .transform(Number);

const httpUrl = z.string().refine((text) => /^https?:$/.test(tryUrl(text)?.protocol ?? ""), {
  error: "is not an http(s) URL",
});

const environment = z
  .strictObject({
    DATABASE_URL: databaseUrl.optional(),
    OWNER_DATABASE_URL: databaseUrl.optional(),
    WORKER_DATABASE_URL: databaseUrl.optional(),
    ADMIN_DATABASE_URL: databaseUrl.optional(),
    DIRECT_DATABASE_URL: databaseUrl.optional(),
    PORT: integer(0, 65_535).default(3000),
    LOG_LEVEL: z
      .enum(LOG_LEVELS, { error: (issue) => `must be one of ${LOG_LEVELS.join(", ")}, not ${given(issue)}` })
      .default("info"),
    ROWHOUSE_DATA_DIR: z.string().default(".rowhouse"),
    // The longest role name, `<prefix>_t_<tenant's UUID>`, has to stay within PostgreSQL's 63 bytes.
    ROWHOUSE_ROLE_PREFIX: z
      .string()
      .regex(/^(?!pg(_|$))[a-z][a-z0-9_]{0,23}$/, {
        error: (issue) =>
          `must be 1 to 24 lower-case letters, digits or "_", begin with a letter and not with "pg_", not ${given(issue)}`,
      })
      .default("rowhouse"),
    ROWHOUSE_POOL_SIZE: integer(1, 1000).default(10),
    ROWHOUSE_TENANT_LIMIT: integer(1, 1000).optional(),
    ROWHOUSE_PREPARED_STATEMENTS: z
      .enum(["true", "false"], { error: (issue) => `must be true or false, not ${given(issue)}` })
      .default("true"),
    ROWHOUSE_TRUST_PROXY: z
      .string()
      .refine((text) => parseTrustProxy(text) !== undefined, {
        error: (issue) =>
          `must be the number of proxies in front, or their addresses separated by commas, not ${given(issue)}: ` +
          "whoever is trusted decides what a request's host and client address are",
      })
      .transform((text) => parseTrustProxy(text) ?? false)
      .default(false),
    // RFC 7518, section 3.2: a key for HS256 has at least 256 bits.
    ROWHOUSE_JWT_SECRET: z
      .string()
      .refine((text) => Buffer.byteLength(text) >= 32, "must have at least 32 bytes (try `openssl rand -base64 48`)")
      .optional(),
    ROWHOUSE_JWKS_URL: httpUrl.optional(),
    ROWHOUSE_JWT_ISSUER: z.string().optional(),
    ROWHOUSE_JWT_AUDIENCE: z.string().optional(),
  })
  .superRefine((env, context) => {
    for (const [variable, problem] of relationProblems(env)) {
      context.addIssue({ code: "custom", path: [variable], message: problem });
    }
  });

type Variable = keyof (typeof environment)["shape"];
const VARIABLES = Object.keys(environment.shape) as Variable[];

const SERVER_VARIABLES = VARIABLES.filter((name) => name.endsWith("DATABASE_URL"));

/** What the variables have to agree on. Pairs of a variable and what is wrong with it. */
function* relationProblems(env: z.output<typeof environment>): Generator<[Variable, string]> {
  const set = SERVER_VARIABLES.filter((name) => env[name] !== undefined);
  if (set.length > 0 && env.DATABASE_URL === undefined) {
    yield [
      "DATABASE_URL",
      `is missing while ${set.join(" and ")} is set. Set it too, or none of them for the embedded PostgreSQL`,
    ];
  }
  for (const other of ["OWNER_DATABASE_URL", "WORKER_DATABASE_URL", "ADMIN_DATABASE_URL"] as const) {
    if (userOf(env[other]) === undefined || userOf(env[other]) !== userOf(env.DATABASE_URL)) continue;
    yield [other, "logs in as the same role as DATABASE_URL. The role that serves requests may have no other duty"];
  }
  const { ROWHOUSE_TENANT_LIMIT: limit, ROWHOUSE_POOL_SIZE: poolSize } = env;
  if (limit !== undefined && limit > Math.max(1, poolSize - 1)) {
    yield [
      "ROWHOUSE_TENANT_LIMIT",
      `(${limit}) must be below ROWHOUSE_POOL_SIZE (${poolSize}), or one tenant could take every connection`,
    ];
  }
  const keys = (["ROWHOUSE_JWT_SECRET", "ROWHOUSE_JWKS_URL"] as const).filter((name) => env[name] !== undefined);
  if (keys.length === 2) yield [keys[0]!, `and ${keys[1]} are two ways to verify a token. Set one of them`];
  for (const name of ["ROWHOUSE_JWT_ISSUER", "ROWHOUSE_JWT_AUDIENCE"] as const) {
    const isSet = env[name] !== undefined;
    if (isSet && keys.length === 0) {
      yield [name, "says nothing without a key to verify tokens with. Set ROWHOUSE_JWT_SECRET or ROWHOUSE_JWKS_URL"];
    } else if (!isSet && keys.length > 0) {
      yield [name, `is missing while ${keys.join(" and ")} is set: a token that is meant for others would be accepted`];
    }
  }
}

/**
 * Reads the configuration, once, at start-up: the only reader of `process.env`. An empty variable counts as not set.
 *
 * @param env the environment's variables
 * @throws ConfigInvalid naming every variable that is wrong, and for an unknown ROWHOUSE_… the one that was meant
 */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const ours = Object.entries(env).filter(([name, value]) => {
    return (
      value !== undefined && value !== "" && (name.startsWith("ROWHOUSE_") || VARIABLES.includes(name as Variable))
    );
  });
  const result = environment.safeParse(Object.fromEntries(ours));
  if (result.success) return toConfig(result.data);
  const problems = result.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((name) => `${name} is not known: ${guess(name)}`)
      : [`${String(issue.path[0])} ${issue.message}`],
  );
  throw new ConfigInvalid(`The environment's variables are not right. ${problems.join(". ")}.`);
}

/**
 * The URL of a role that not every process has.
 * @throws ConfigInvalid naming the variable to set
 */
export function requireUrl(urls: ServerUrls, role: "owner" | "admin" | "worker"): string {
  const url = urls[role];
  if (url !== undefined) return url;
  throw new ConfigInvalid(`Set ${role.toUpperCase()}_DATABASE_URL: this needs the ${role} role.`);
}

function toConfig(env: z.output<typeof environment>): Config {
  const { DATABASE_URL: app, OWNER_DATABASE_URL: owner } = env;
  return {
    urls:
      app !== undefined
        ? {
            app,
            owner,
            worker: env.WORKER_DATABASE_URL,
            admin: env.ADMIN_DATABASE_URL,
            direct: env.DIRECT_DATABASE_URL ?? app,
          }
        : undefined,
    dataDirectory: env.ROWHOUSE_DATA_DIR,
    rolePrefix: env.ROWHOUSE_ROLE_PREFIX,
    poolSize: env.ROWHOUSE_POOL_SIZE,
    tenantLimit: env.ROWHOUSE_TENANT_LIMIT ?? Math.max(1, Math.floor(env.ROWHOUSE_POOL_SIZE / 2)),
    preparedStatements: env.ROWHOUSE_PREPARED_STATEMENTS === "true",
    port: env.PORT,
    logLevel: env.LOG_LEVEL,
    trustProxy: env.ROWHOUSE_TRUST_PROXY,
    tokens: toTokens(env),
  };
}

function toTokens(env: z.output<typeof environment>): TokenConfig | undefined {
  const { ROWHOUSE_JWT_ISSUER: issuer, ROWHOUSE_JWT_AUDIENCE: audience } = env;
  const { ROWHOUSE_JWT_SECRET: secret, ROWHOUSE_JWKS_URL: jwksUrl } = env;
  if (issuer === undefined || audience === undefined) return undefined;
  if (secret !== undefined) return { issuer, audience, secret };
  return jwksUrl === undefined ? undefined : { issuer, audience, jwksUrl };
}

function tryUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/**
 * A database's URL in its parts. For a socket the host is empty and its folder travels as `?host=/run/postgresql`, which
 * WHATWG's URL refuses: it gets a host here, and the driver goes by the folder still.
 * @returns undefined for what is no URL
 */
export const tryDatabaseUrl = (text: string): URL | undefined => tryUrl(text.replace(/@\/(.*[?&]host=)/, "@socket/$1"));

function isDatabaseUrl(text: string): boolean {
  const url = tryDatabaseUrl(text);
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) return false;
  return url.hostname !== "" && url.username !== "" && url.pathname.length > 1;
}

const userOf = (url: string | undefined) => (url === undefined ? undefined : tryDatabaseUrl(url)?.username);

/** @returns undefined for what is neither a number of proxies nor a list of addresses */
function parseTrustProxy(text: string): false | number | string[] | undefined {
  if (text === "false") return false;
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const list = text.split(",").map((part) => part.trim());
  const isAddress = (part: string) => {
    const [address = "", bits = "0", ...rest] = part.split("/");
    const isRange = isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && rest.length === 0;
    return isRange || ["loopback", "linklocal", "uniquelocal"].includes(part);
  };
  return list.every(isAddress) ? list : undefined;
}

function guess(name: string): string {
  const bare = (text: string) => text.replace(/^ROWHOUSE_/, "");
  const [best] = VARIABLES.map((known) => ({ known, distance: editDistance(bare(name), bare(known)) })).sort(
    (a, b) => a.distance - b.distance,
  );
  if (best !== undefined && best.distance <= best.known.length / 3) return `did you mean ${best.known}?`;
  return `the known ones are ${VARIABLES.filter((known) => known.startsWith("ROWHOUSE_")).join(", ")}`;
}

/** Levenshtein's distance: how many letters must be added, removed or changed. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
