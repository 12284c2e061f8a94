import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTokenVerifier, type TokenVerifierOptions } from "../../src/auth/verify-token.ts";
import { AUDIENCE, ISSUER, TENANT_ID, tokenWith } from "./key-server.ts";
import { stopClock } from "./stopped-clock.ts";

const SECRET = "a shared secret that has more than 64 bytes, so that it fits every hash";
const KEY = new TextEncoder().encode(SECRET);
const HS256 = { alg: "HS256" };
const verifier = () => createTokenVerifier({ secret: SECRET, issuer: ISSUER, audience: AUDIENCE });
const now = () => Math.floor(Date.now() / 1000);

describe("a token with a shared secret", () => {
  it("yields the principal and the claims", async () => {
    const token = await tokenWith(KEY, HS256, { scope: "orders:read orders:write" });
    const verified = await verifier()(token);
    expect(verified.principal).toEqual({ kind: "user", id: "user-1", scopes: ["orders:read", "orders:write"] });
    expect(verified.claims["tenant_id"]).toBe(TENANT_ID);
  });

  it("takes scopes in the forms that issuers send, and nothing from other forms", async () => {
    const scopesOf = async (claims: Record<string, unknown>) =>
      (await verifier()(await tokenWith(KEY, HS256, claims))).principal.scopes;
    expect(await scopesOf({ scope: "a  b" })).toEqual(["a", "b"]);
    expect(await scopesOf({ scope: ["a", "b"] })).toEqual(["a", "b"]);
    expect(await scopesOf({ scp: ["a", 7, ""] })).toEqual(["a"]);
    expect(await scopesOf({ scp: "a" })).toEqual(["a"]);
    expect(await scopesOf({ scope: { a: true } })).toEqual([]);
    expect(await scopesOf({})).toEqual([]);
  });

  it("may be made for several audiences, or have expired within the tolerance", async () => {
    stopClock();
    const verify = verifier();
    await expect(verify(await tokenWith(KEY, HS256, { aud: ["other", AUDIENCE] }))).resolves.toBeDefined();
    await expect(verify(await tokenWith(KEY, HS256, { exp: now() - 4 }))).resolves.toBeDefined();
    await expect(verify(await tokenWith(KEY, HS256, { nbf: now() + 5 }))).resolves.toBeDefined();
  });

  it.each([
    ["expired beyond the tolerance", () => ({ exp: now() - 6 }), "The token has expired. Get a new one."],
    ["is not valid yet", () => ({ nbf: now() + 60 }), 'The token\'s "nbf" claim is not acceptable here.'],
    ["is for another audience", () => ({ aud: "other" }), 'The token\'s "aud" claim is not acceptable here.'],
    [
      "is from another issuer",
      () => ({ iss: "https://evil.example" }),
      'The token\'s "iss" claim is not acceptable here.',
    ],
    ["never expires", () => ({ exp: undefined }), 'The token has no "exp" claim.'],
    ["expires at a text", () => ({ exp: "9999999999" }), 'The token\'s "exp" claim is not acceptable here.'],
    ["names no audience", () => ({ aud: undefined }), 'The token has no "aud" claim.'],
    ["names no issuer", () => ({ iss: undefined }), 'The token has no "iss" claim.'],
    ["names nobody", () => ({ sub: undefined }), 'The token has no "sub" claim.'],
    ["names an empty subject", () => ({ sub: "" }), 'The token\'s "sub" claim is not acceptable here.'],
  ])("cannot be used when it %s", async (_, claims, message) => {
    stopClock();
    const token = await tokenWith(KEY, HS256, claims());
    await expect(verifier()(token)).rejects.toMatchObject({ code: "ERR_UNAUTHENTICATED", message });
    await expect(verifier()(await tokenWith(KEY, HS256))).resolves.toBeDefined();
  });

  it("cannot be tampered with, also after the true one was seen", async () => {
    const verify = verifier();
    const token = await tokenWith(KEY, HS256);
    const [header, , signature] = token.split(".");
    const [, otherPayload] = (await tokenWith(KEY, HS256, { sub: "admin" })).split(".");
    await expect(verify(token)).resolves.toBeDefined();
    for (const forged of [
      [header, otherPayload, signature].join("."),
      token.slice(0, -4) + (token.endsWith("AAAA") ? "BBBB" : "AAAA"),
    ]) {
      await expect(verify(forged)).rejects.toMatchObject({
        code: "ERR_UNAUTHENTICATED",
        message: "The token's signature is not valid.",
      });
    }
  });

  it("cannot be signed with another secret", async () => {
    const token = await tokenWith(new TextEncoder().encode("another secret of at least 32 bytes length"), HS256);
    await expect(verifier()(token)).rejects.toMatchObject({
      code: "ERR_UNAUTHENTICATED",
      message: "The token's signature is not valid.",
    });
  });

  it("cannot use an algorithm outside the list, nor none", async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const [, payload] = (await tokenWith(KEY, HS256)).split(".");
    const unsigned = ["none", "None", "NONE"].map((alg) => `${encode({ alg })}.${payload}.`);
    for (const token of [await tokenWith(KEY, { alg: "HS512" }), ...unsigned]) {
      await expect(verifier()(token)).rejects.toMatchObject({
        code: "ERR_UNAUTHENTICATED",
        message: "The token is not signed with an algorithm that is accepted here.",
      });
    }
    const both = createTokenVerifier({
      secret: SECRET,
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: ["HS256", "HS512"],
    });
    await expect(both(await tokenWith(KEY, { alg: "HS512" }))).resolves.toBeDefined();
  });

  it("cannot be something else than a JWT", async () => {
    const others = ["", "x", "a.b", "a.b.c", "e30.e30.", "....", "\u0000.é.€", "a".repeat(16_000), "W10.W10.W10"];
    for (const token of others) {
      await expect(verifier()(token)).rejects.toMatchObject({
        code: "ERR_UNAUTHENTICATED",
        message: "The token is not a valid JWT.",
      });
    }
  });

  it("never appears in an error, nor do its claims", async () => {
    const tokens = [
      await tokenWith(KEY, HS256, { email: "someone@example.com", exp: 1 }),
      await tokenWith(KEY, HS256, { email: "someone@example.com", aud: "other" }),
      (await tokenWith(KEY, HS256, { email: "someone@example.com" })).slice(0, -4),
    ];
    for (const token of tokens) {
      const error: unknown = await verifier()(token).catch((reason: unknown) => reason);
      const shown = inspect(error, { depth: 10, showHidden: true });
      expect(shown).toContain("ERR_UNAUTHENTICATED");
      for (const part of token.split(".")) expect(shown).not.toContain(part);
      expect(shown).not.toContain("someone@example.com");
    }
  });
});

describe("a token that was verified before", () => {
  it("is checked against the clock, not against the key", async () => {
    const pass = stopClock();
    const verify = verifier();
    const token = await tokenWith(KEY, HS256, { exp: now() + 30 });
    const checkSignature = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => checkSignature.mockRestore());

    await verify(token);
    const first = await verify(token);
    expect(checkSignature).toHaveBeenCalledTimes(1);
    pass(34);
    expect(await verify(token)).toBe(first);
    pass(1);
    await expect(verify(token)).rejects.toMatchObject({ message: "The token has expired. Get a new one." });
  });

  it("is checked in full again after a minute", async () => {
    const pass = stopClock();
    const verify = verifier();
    const token = await tokenWith(KEY, HS256);
    const checkSignature = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => checkSignature.mockRestore());

    await verify(token);
    pass(59);
    await verify(token);
    expect(checkSignature).toHaveBeenCalledTimes(1);
    pass(2);
    await verify(token);
    expect(checkSignature).toHaveBeenCalledTimes(2);
  });

  it("cannot be changed by whoever gets it", async () => {
    const { principal, claims } = await verifier()(await tokenWith(KEY, HS256, { scope: "read" }));
    expect(() => (principal.scopes as string[]).push("admin")).toThrow(TypeError);
    expect(() => Object.assign(principal, { id: "admin" })).toThrow(TypeError);
    expect(() => Object.assign(claims, { tenant_id: "other" })).toThrow(TypeError);
  });

  it("is not remembered by another verifier", async () => {
    const token = await tokenWith(KEY, HS256);
    await verifier()(token);
    const other = createTokenVerifier({ secret: SECRET, issuer: ISSUER, audience: "other" });
    await expect(other(token)).rejects.toMatchObject({ code: "ERR_UNAUTHENTICATED" });
  });
});

describe("a verifier cannot be made", () => {
  const good = { secret: SECRET, issuer: ISSUER, audience: AUDIENCE };
  const jwks = { jwksUrl: "https://issuer.example/jwks", issuer: ISSUER, audience: AUDIENCE };
  const cases: [string, object, RegExp][] = [
    ["with 31 bytes for HS256", { ...good, secret: "x".repeat(31) }, /31 bytes and HS256 needs at least 32/],
    ["with 47 bytes for HS384", { ...good, secret: "x".repeat(47), algorithms: ["HS384"] }, /HS384 needs at least 48/],
    [
      "with 63 bytes for HS512",
      { ...good, secret: "x".repeat(63), algorithms: ["HS256", "HS512"] },
      /HS512 needs at least 64/,
    ],
    ["with none", { ...good, algorithms: ["none"] }, /Algorithm "none" is refused: with secret/],
    ["with none beside keys", { ...jwks, algorithms: ["RS256", "none"] }, /Algorithm "none" is refused: with jwksUrl/],
    ["with a secret's algorithm for public keys", { ...jwks, algorithms: ["RS256", "HS256"] }, /"HS256" is refused/],
    ["with a key pair's algorithm for a secret", { ...good, algorithms: ["RS256"] }, /"RS256" is refused/],
    ["with an empty list", { ...good, algorithms: [] }, /The list of algorithms is empty/],
    ["with both sources", { ...good, jwksUrl: jwks.jwksUrl }, /Set one of them/],
    ["with no source", { issuer: ISSUER, audience: AUDIENCE }, /jwksUrl undefined is not an http\(s\) URL/],
    ["with a file", { ...jwks, jwksUrl: "file:///etc/passwd" }, /is not an http\(s\) URL/],
    ["without an issuer", { ...good, issuer: "" }, /^issuer must be set/],
    ["without an audience", { ...good, audience: undefined }, /^audience must be set/],
    [
      "with a negative tolerance",
      { ...good, clockTolerance: -1 },
      /clockTolerance must be from 0 to 300 seconds, not -1/,
    ],
    ["with a tolerance that is no number", { ...good, clockTolerance: Number.NaN }, /clockTolerance must be/],
    ["with a tolerance that outlives tokens", { ...good, clockTolerance: 3600 }, /clockTolerance must be/],
  ];

  it.each(cases)("%s", (_, options, message) => {
    const make = () => createTokenVerifier(options as TokenVerifierOptions);
    expect(make).toThrow(
      expect.objectContaining({ code: "ERR_CONFIG_INVALID", message: expect.stringMatching(message) }),
    );
  });

  it("but with the least that is needed", () => {
    expect(() => createTokenVerifier({ ...good, secret: "é".repeat(16) })).not.toThrow();
    expect(() => createTokenVerifier({ ...good, secret: "x".repeat(64), algorithms: ["HS512"] })).not.toThrow();
    expect(() => createTokenVerifier({ ...jwks, algorithms: ["ES256"] })).not.toThrow();
  });
});
