import { describe, expect, it } from "vitest";
import { signToken } from "../../../src/auth/sign-token.ts";
import { createTokenVerifier } from "../../../src/auth/verify-token.ts";
import { jwtClaim } from "../../../src/tenancy/resolvers/jwt-claim.ts";
import { KeysUnavailable } from "../../../src/errors.ts";
import { AUDIENCE, ISSUER, tokenWith } from "../../auth/key-server.ts";
import { ACME } from "../fake-database.ts";
import { describeResolver, request } from "../resolver.case.ts";

const secret = "a secret of at least thirty-two bytes";
const key = new TextEncoder().encode(secret);
const signing = { secret, issuer: ISSUER, audience: AUDIENCE, subject: "ada", expiresIn: 600 };
const verifier = createTokenVerifier(signing);
const bearer = (...tokens: string[]) => request("api.example.com", { authorization: `Bearer ${tokens.join(" ")}` });
const withClaim = (value: unknown) => tokenWith(key, { alg: "HS256" }, { tenant_id: value });

const valid = await signToken({ ...signing, tenantId: ACME.id, scopes: ["orders:read"] });
const expired = await tokenWith(key, { alg: "HS256" }, { exp: 1 });
const acme = {
  tenant: { by: "id", id: ACME.id },
  principal: { kind: "user", id: "ada", scopes: ["orders:read"] },
} as const;
const namesNone = 'The token names no tenant: its "tenant_id" claim must be the tenant\'s id.';

describeResolver({
  name: "jwt-claim",
  resolver: jwtClaim({ verifier }),
  accepted: [
    { what: "a token", request: bearer(valid), means: acme },
    { what: "the scheme in any case", request: request("", { authorization: `bEARER ${valid}` }), means: acme },
    {
      what: "a header that came as a list of one",
      request: request("", { authorization: [`Bearer ${valid}`] }),
      means: acme,
    },
    {
      what: "a claim that is no UUID, for the registry to find unknown",
      request: bearer(await withClaim("0")),
      means: { tenant: { by: "id", id: "0" }, principal: { kind: "user", id: "user-1", scopes: [] } },
    },
  ],
  passedOver: [
    { what: "a request without credentials", request: request("acme.example.com") },
    { what: "another scheme", request: request("", { authorization: "Basic YWRhOnB3" }) },
    { what: "an API key", request: bearer("rh_something") },
    { what: "an API key's header", request: request("", { "x-api-key": valid }) },
  ],
  refused: [
    { what: "an expired token", request: bearer(expired), message: "The token has expired. Get a new one." },
    { what: "what is no token", request: bearer("x.y.z"), message: "The token is not a valid JWT." },
    {
      what: "a forged token",
      request: bearer(await tokenWith(Buffer.alloc(32), { alg: "HS256" })),
      message: "The token's signature is not valid.",
    },
    {
      what: "the scheme alone",
      request: request("", { authorization: "Bearer" }),
      message: "The Authorization header must read: Bearer, a space, and one token or API key.",
    },
    {
      what: "two tokens in one header",
      request: bearer(valid, valid),
      message: "The Authorization header must read: Bearer, a space, and one token or API key.",
    },
    {
      what: "two headers",
      request: request("", { authorization: [`Bearer ${valid}`, `Bearer ${valid}`] }),
      message: "The header authorization was sent 2 times. Send it once.",
    },
    { what: "a token without the claim", request: bearer(await withClaim(undefined)), message: namesNone },
    { what: "a claim that is null", request: bearer(await withClaim(null)), message: namesNone },
    { what: "a claim that is 0", request: bearer(await withClaim(0)), message: namesNone },
    { what: "a claim that is empty", request: bearer(await withClaim("")), message: namesNone },
    { what: "a claim that lists tenants", request: bearer(await withClaim([ACME.id])), message: namesNone },
  ],
  secrets: [valid, expired],
});

describe("jwtClaim", () => {
  it("reads the claim that is configured", async () => {
    const token = await tokenWith(key, { alg: "HS256" }, { org_id: ACME.id, tenant_id: undefined });
    const resolution = await jwtClaim({ verifier, claim: "org_id" }).resolve(bearer(token), neverAsked);
    expect(resolution?.tenant).toEqual({ by: "id", id: ACME.id });
  });

  it("leaves a key server's failure a failure of the server", async () => {
    const down = jwtClaim({ verifier: () => Promise.reject(new KeysUnavailable("No keys.")) });
    await expect(down.resolve(bearer(valid), neverAsked)).rejects.toMatchObject({
      code: "ERR_KEYS_UNAVAILABLE",
      message: "No keys.",
    });
  });
});

const neverAsked = { apiKey: () => Promise.reject(new Error("a token needs no look-up")) };
