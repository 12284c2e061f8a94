import { describe, expect, it } from "vitest";
import { signToken } from "../../src/auth/sign-token.ts";
import { createTokenVerifier } from "../../src/auth/verify-token.ts";
import { AUDIENCE, ISSUER, TENANT_ID } from "./key-server.ts";

const options = {
  secret: "a secret of at least thirty-two bytes",
  issuer: ISSUER,
  audience: AUDIENCE,
  subject: "ada",
  tenantId: TENANT_ID,
  expiresIn: 60,
};

describe("a signed token", () => {
  it("is accepted by a verifier with the same secret", async () => {
    const before = Math.floor(Date.now() / 1000);
    const { principal, claims } = await createTokenVerifier(options)(
      await signToken({ ...options, scopes: ["a", "b"] }),
    );
    expect(principal).toEqual({ kind: "user", id: "ada", scopes: ["a", "b"] });
    expect(claims["tenant_id"]).toBe(TENANT_ID);
    expect(Number(claims["exp"]) - Number(claims["iat"])).toBe(60);
    expect(Number(claims["iat"])).toBeGreaterThanOrEqual(before);
  });

  it("grants nothing without scopes", async () => {
    const { principal } = await createTokenVerifier(options)(await signToken(options));
    expect(principal.scopes).toEqual([]);
  });

  it("cannot be made with a short secret", async () => {
    await expect(signToken({ ...options, secret: "short" })).rejects.toMatchObject({
      code: "ERR_CONFIG_INVALID",
      message: expect.stringContaining("The token secret has 5 bytes and HS256 needs at least 32"),
    });
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("cannot last %d seconds", async (expiresIn) => {
    await expect(signToken({ ...options, expiresIn })).rejects.toMatchObject({
      code: "ERR_CONFIG_INVALID",
      message: `expiresIn must be a positive number of seconds, not ${expiresIn}.`,
    });
  });
});
