import { describe, expect, test } from "vitest";
import { readConfig, requireUrl } from "../src/config.ts";
import { ConfigInvalid } from "../src/errors.ts";

const APP = "postgres://acme_app:app-secret@db:5432/acme";
const OWNER = "postgres://acme_owner:owner-secret@db:5432/acme";
const SECRET = "0123456789abcdef0123456789abcdef";

/** @returns the message of the ConfigInvalid that reading `env` raises */
function problemOf(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigInvalid);
    expect(error).toHaveProperty("code", "ERR_CONFIG_INVALID");
    return (error as ConfigInvalid).message;
  }
  throw new Error("the configuration was accepted");
}

describe("with nothing set", () => {
  test("the embedded PostgreSQL and the defaults are used", () => {
    expect(readConfig({})).toEqual({
      urls: undefined,
      dataDirectory: ".rowhouse",
      rolePrefix: "rowhouse",
      poolSize: 10,
      tenantLimit: 5,
      preparedStatements: true,
      port: 3000,
      logLevel: "info",
      trustProxy: false,
      tokens: undefined,
    });
  });

  test("an empty variable counts as not set, and others' variables are left alone", () => {
    expect(readConfig({ DATABASE_URL: "", ROWHOUSE_POOL_SIZE: "", PATH: "/bin", PGPORT: "x" })).toEqual(readConfig({}));
  });

  test("the process's environment is what is read", () => {
    process.env.ROWHOUSE_POOL_SIZE = "34";
    try {
      expect(readConfig().poolSize).toBe(34);
    } finally {
      delete process.env.ROWHOUSE_POOL_SIZE;
    }
  });
});

describe("the servers' URLs", () => {
  test("app and owner are enough; direct is the app's own unless it is given", () => {
    const { urls } = readConfig({ DATABASE_URL: APP, OWNER_DATABASE_URL: OWNER });
    expect(urls).toEqual({ app: APP, owner: OWNER, worker: undefined, admin: undefined, direct: APP });
  });

  test("all five are read", () => {
    const WORKER = "postgresql://acme_worker@db/acme";
    const ADMIN = "postgres://acme_admin@/postgres?host=/run/postgresql";
    const DIRECT = "postgres://acme_app@direct/acme";
    const env = { DATABASE_URL: APP, OWNER_DATABASE_URL: OWNER, WORKER_DATABASE_URL: WORKER };
    expect(readConfig({ ...env, ADMIN_DATABASE_URL: ADMIN, DIRECT_DATABASE_URL: DIRECT }).urls).toEqual({
      app: APP,
      owner: OWNER,
      worker: WORKER,
      admin: ADMIN,
      direct: DIRECT,
    });
  });

  test("the app's alone is enough to serve; without it the others are refused, and it is named", () => {
    const { urls } = readConfig({ DATABASE_URL: APP });
    expect(urls).toMatchObject({ app: APP, owner: undefined });
    expect(() => requireUrl(urls!, "owner")).toThrow("Set OWNER_DATABASE_URL: this needs the owner role.");
    expect(requireUrl(readConfig({ DATABASE_URL: APP, OWNER_DATABASE_URL: OWNER }).urls!, "owner")).toBe(OWNER);
    expect(problemOf({ OWNER_DATABASE_URL: OWNER })).toContain(
      "DATABASE_URL is missing while OWNER_DATABASE_URL is set. Set it too, or none of them for the embedded PostgreSQL",
    );
    expect(problemOf({ ADMIN_DATABASE_URL: OWNER })).toContain(
      " DATABASE_URL is missing while ADMIN_DATABASE_URL is set",
    );
  });

  test.each([
    "acme",
    "mysql://u:hidden@db/acme",
    "postgres://db/acme",
    "postgres://u:hidden@db",
    "postgres://u:hidden@db/",
    "postgres://u:hid den@db:port/acme",
    "postgres://u:hidden@/acme",
  ])("%s is not taken for a PostgreSQL URL, and no password is repeated", (url) => {
    const problem = problemOf({ DATABASE_URL: url, OWNER_DATABASE_URL: OWNER });
    expect(problem).toContain(
      "DATABASE_URL is not a PostgreSQL URL with a user and a database (postgres://user:password@host",
    );
    expect(problem).not.toMatch(/hid|owner-secret/);
  });

  test.each(["OWNER_DATABASE_URL", "WORKER_DATABASE_URL", "ADMIN_DATABASE_URL"])(
    "%s may not log in as the role that serves requests",
    (name) => {
      const problem = problemOf({ DATABASE_URL: APP, OWNER_DATABASE_URL: OWNER, [name]: APP });
      expect(problem).toContain(`${name} logs in as the same role as DATABASE_URL`);
      expect(problem).not.toContain("app-secret");
    },
  );
});

describe("a variable that is not known", () => {
  test.each([
    ["ROWHOUSE_POOLSIZE", "did you mean ROWHOUSE_POOL_SIZE?"],
    ["ROWHOUSE_POOL_SIZ", "did you mean ROWHOUSE_POOL_SIZE?"],
    ["ROWHOUSE_TENNANT_LIMIT", "did you mean ROWHOUSE_TENANT_LIMIT?"],
    ["ROWHOUSE_DATABASE_URL", "did you mean DATABASE_URL?"],
    ["ROWHOUSE_PORT", "did you mean PORT?"],
    ["ROWHOUSE_COLOUR", "the known ones are ROWHOUSE_DATA_DIR, ROWHOUSE_ROLE_PREFIX, "],
  ])("%s is refused with a guess", (name, answer) => {
    const problem = problemOf({ [name]: "hidden" });
    expect(problem).toContain(`${name} is not known: ${answer}`);
    expect(problem).not.toContain("hidden");
  });
});

describe("numbers and words", () => {
  test("are read", () => {
    const env = {
      PORT: "0",
      LOG_LEVEL: "silent",
      ROWHOUSE_PREPARED_STATEMENTS: "false",
      ROWHOUSE_ROLE_PREFIX: "acme_2",
    };
    expect(readConfig({ ...env, ROWHOUSE_POOL_SIZE: "7", ROWHOUSE_DATA_DIR: "/var/data" })).toMatchObject({
      port: 0,
      logLevel: "silent",
      preparedStatements: false,
      rolePrefix: "acme_2",
      poolSize: 7,
      tenantLimit: 3,
      dataDirectory: "/var/data",
    });
  });

  test.each([
    ["PORT", "http", 'PORT must be a whole number from 0 to 65535, not "http"'],
    ["PORT", "65536", 'PORT must be a whole number from 0 to 65535, not "65536"'],
    ["PORT", "0x50", 'PORT must be a whole number from 0 to 65535, not "0x50"'],
    ["LOG_LEVEL", "loud", 'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "loud"'],
    ["ROWHOUSE_POOL_SIZE", "0", 'ROWHOUSE_POOL_SIZE must be a whole number from 1 to 1000, not "0"'],
    ["ROWHOUSE_POOL_SIZE", "1e2", 'ROWHOUSE_POOL_SIZE must be a whole number from 1 to 1000, not "1e2"'],
    ["ROWHOUSE_PREPARED_STATEMENTS", "yes", 'ROWHOUSE_PREPARED_STATEMENTS must be true or false, not "yes"'],
    ["ROWHOUSE_ROLE_PREFIX", "Acme", "ROWHOUSE_ROLE_PREFIX must be 1 to 24 lower-case letters"],
    ["ROWHOUSE_ROLE_PREFIX", "pg_acme", 'begin with a letter and not with "pg_", not "pg_acme"'],
    ["ROWHOUSE_ROLE_PREFIX", "a".repeat(25), "ROWHOUSE_ROLE_PREFIX must be 1 to 24 lower-case letters"],
  ])("%s=%s is refused", (name, value, message) => {
    expect(problemOf({ [name]: value })).toContain(message);
  });

  test("all problems are told at once", () => {
    const problem = problemOf({ PORT: "x", LOG_LEVEL: "y", ROWHOUSE_COLOUR: "z", DATABASE_URL: "acme" });
    for (const name of ["PORT", "LOG_LEVEL", "ROWHOUSE_COLOUR", "DATABASE_URL"]) expect(problem).toContain(`${name} `);
  });
});

describe("the cap on one tenant's transactions", () => {
  test("is half the pool, never none, or what is set", () => {
    expect(readConfig({ ROWHOUSE_POOL_SIZE: "1" }).tenantLimit).toBe(1);
    expect(readConfig({ ROWHOUSE_POOL_SIZE: "9" }).tenantLimit).toBe(4);
    expect(readConfig({ ROWHOUSE_TENANT_LIMIT: "9" }).tenantLimit).toBe(9);
    expect(readConfig({ ROWHOUSE_POOL_SIZE: "1", ROWHOUSE_TENANT_LIMIT: "1" }).tenantLimit).toBe(1);
  });

  test("must leave a connection to the others", () => {
    expect(problemOf({ ROWHOUSE_TENANT_LIMIT: "10" })).toContain(
      "ROWHOUSE_TENANT_LIMIT (10) must be below ROWHOUSE_POOL_SIZE (10), or one tenant could take every connection",
    );
    expect(problemOf({ ROWHOUSE_POOL_SIZE: "1", ROWHOUSE_TENANT_LIMIT: "2" })).toContain("must be below");
  });
});

describe("tokens", () => {
  test("are verified with a shared secret or with published keys", () => {
    const whose = { ROWHOUSE_JWT_ISSUER: "acme", ROWHOUSE_JWT_AUDIENCE: "api" };
    const shared = readConfig({ ...whose, ROWHOUSE_JWT_SECRET: SECRET });
    expect(shared.tokens).toEqual({ secret: SECRET, issuer: "acme", audience: "api" });
    const published = readConfig({ ...whose, ROWHOUSE_JWKS_URL: "https://id.example.com/keys" });
    expect(published.tokens).toEqual({ jwksUrl: "https://id.example.com/keys", issuer: "acme", audience: "api" });
  });

  test.each([
    [{ ROWHOUSE_JWT_SECRET: "too-short-hidden" }, "ROWHOUSE_JWT_SECRET must have at least 32 bytes"],
    [{ ROWHOUSE_JWKS_URL: "ftp://id/keys" }, "ROWHOUSE_JWKS_URL is not an http(s) URL"],
    [
      { ROWHOUSE_JWT_SECRET: `hidden${SECRET}`, ROWHOUSE_JWKS_URL: "https://id/keys" },
      "ROWHOUSE_JWT_SECRET and ROWHOUSE_JWKS_URL are two ways to verify a token",
    ],
    [
      { ROWHOUSE_JWT_SECRET: `hidden${SECRET}`, ROWHOUSE_JWT_ISSUER: "acme" },
      "ROWHOUSE_JWT_AUDIENCE is missing while ROWHOUSE_JWT_SECRET is set: a token that is meant for others would be accepted",
    ],
    [
      { ROWHOUSE_JWKS_URL: "https://id/keys", ROWHOUSE_JWT_AUDIENCE: "api" },
      "ROWHOUSE_JWT_ISSUER is missing while ROWHOUSE_JWKS_URL is set",
    ],
    [{ ROWHOUSE_JWT_ISSUER: "acme" }, "ROWHOUSE_JWT_ISSUER says nothing without a key to verify tokens with"],
    [{ ROWHOUSE_JWT_AUDIENCE: "api" }, "ROWHOUSE_JWT_AUDIENCE says nothing without a key to verify tokens with"],
  ])("%j is refused", (env, message) => {
    const problem = problemOf(env);
    expect(problem).toContain(message);
    expect(problem).not.toContain("hidden");
  });
});

describe("trusted proxies", () => {
  test.each([
    ["false", false],
    ["0", 0],
    ["2", 2],
    ["loopback", ["loopback"]],
    ["10.0.0.0/8, ::1,uniquelocal", ["10.0.0.0/8", "::1", "uniquelocal"]],
  ])("%s is read", (value, expected) => {
    expect(readConfig({ ROWHOUSE_TRUST_PROXY: value }).trustProxy).toEqual(expected);
  });

  // `true` would believe every client.
  test.each(["true", "proxy.internal", "10.0.0.0/8/8", "10.0.0.0/x", "1.2.3", "-1", ","])("%s is refused", (value) => {
    expect(problemOf({ ROWHOUSE_TRUST_PROXY: value })).toContain(
      `ROWHOUSE_TRUST_PROXY must be the number of proxies in front, or their addresses separated by commas, not "${value}"`,
    );
  });
});
