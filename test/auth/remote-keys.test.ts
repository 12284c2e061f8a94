import { createHmac } from "node:crypto";
import { exportSPKI, generateKeyPair, exportJWK } from "jose";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createTokenVerifier } from "../../src/auth/verify-token.ts";
import { AUDIENCE, ISSUER, makeKeyPair, startKeyServer, tokenWith, type KeyPair } from "./key-server.ts";

const UNKNOWN_KEY = {
  code: "ERR_UNAUTHENTICATED",
  message: "The token is signed with a key that is not known here.",
};
const BAD_SIGNATURE = { code: "ERR_UNAUTHENTICATED", message: "The token's signature is not valid." };
const UNAVAILABLE = {
  code: "ERR_KEYS_UNAVAILABLE",
  message: "The key server gives no usable keys, so no token can be checked now. Try again.",
  retryAfter: 1,
};

const verifierFor = (server: { url: string }) =>
  createTokenVerifier({ jwksUrl: server.url, issuer: ISSUER, audience: AUDIENCE });

const signed = (pair: KeyPair, claims: Record<string, unknown> = {}) => {
  const { alg = "", kid } = pair.jwk;
  return tokenWith(pair.privateKey, { alg, ...(kid === undefined ? {} : { kid }) }, claims);
};

/** Tokens that differ, so that none is answered from memory. */
const several = (count: number, make: (index: number) => Promise<string>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

function stopClocks() {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
}
const passSeconds = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

describe("keys from a key server", () => {
  it.each(["RS256", "PS256", "ES256", "EdDSA"])("verify a token signed with %s", async (alg) => {
    const pair = await makeKeyPair(alg, "k1");
    const verify = verifierFor(await startKeyServer(pair));
    const { principal } = await verify(await signed(pair));
    expect(principal).toEqual({ kind: "user", id: "user-1", scopes: [] });
  });

  it("are fetched once for tokens that come together, and once for those that follow", async () => {
    const pair = await makeKeyPair("ES256", "k1");
    const server = await startKeyServer(pair);
    const verify = verifierFor(server);
    const tokens = await several(40, (index) => signed(pair, { sub: `user-${index}` }));
    await Promise.all(tokens.slice(0, 20).map(verify));
    for (const token of tokens.slice(20)) await verify(token);
    expect(server.requests).toBe(1);
  });

  it("are fetched again when a token names a new one", async () => {
    stopClocks();
    const [before, after] = [await makeKeyPair("ES256", "k1"), await makeKeyPair("ES256", "k2")];
    const server = await startKeyServer(before);
    const verify = verifierFor(server);
    await verify(await signed(before));

    server.keys = [before.jwk, after.jwk];
    passSeconds(11);
    await expect(verify(await signed(after))).resolves.toBeDefined();
    await expect(verify(await signed(before, { sub: "user-2" }))).resolves.toBeDefined();
    expect(server.requests).toBe(2);
  });

  it("are not fetched for made-up key ids more than once in ten seconds", async () => {
    stopClocks();
    const pair = await makeKeyPair("ES256", "k1");
    const server = await startKeyServer(pair);
    const verify = verifierFor(server);
    const made = await several(300, (index) => tokenWith(pair.privateKey, { alg: "ES256", kid: `made-up-${index}` }));
    await verify(await signed(pair));

    for (const [round, expected] of [2, 3, 4].entries()) {
      passSeconds(11);
      const batch = made.slice(round * 100, round * 100 + 100);
      const together = await Promise.allSettled(batch.slice(50).map(verify));
      for (const result of together) expect(result).toMatchObject({ status: "rejected", reason: UNKNOWN_KEY });
      for (const token of batch.slice(0, 50)) await expect(verify(token)).rejects.toMatchObject(UNKNOWN_KEY);
      expect(server.requests).toBe(expected);
    }
    await expect(verify(await signed(pair, { sub: "user-2" }))).resolves.toBeDefined();
  });

  it("stop working ten minutes after they were withdrawn, at the latest", async () => {
    stopClocks();
    const [old, current] = [await makeKeyPair("ES256", "k1"), await makeKeyPair("ES256", "k2")];
    const server = await startKeyServer(old, current);
    const verify = verifierFor(server);
    await verify(await signed(old));

    server.keys = [current.jwk];
    passSeconds(601);
    await expect(verify(await signed(old, { sub: "user-2" }))).rejects.toMatchObject(UNKNOWN_KEY);
    await expect(verify(await signed(current))).resolves.toBeDefined();
  });

  it("need not have an id, and then each that fits is tried", async () => {
    const [first, second, stranger] = [
      await makeKeyPair("ES256"),
      await makeKeyPair("ES256"),
      await makeKeyPair("ES256"),
    ];
    const verify = verifierFor(await startKeyServer(first, second));
    await expect(verify(await signed(first))).resolves.toBeDefined();
    await expect(verify(await signed(second))).resolves.toBeDefined();
    await expect(verify(await signed(second, { aud: "other" }))).rejects.toMatchObject({
      message: 'The token\'s "aud" claim is not acceptable here.',
    });
    await expect(verify(await signed(stranger))).rejects.toMatchObject(BAD_SIGNATURE);
  });
});

describe("a forged token", () => {
  it("cannot use the public key as a secret", async () => {
    const pair = await makeKeyPair("RS256", "k1");
    const verify = verifierFor(await startKeyServer(pair));
    await expect(verify(await signed(pair))).resolves.toBeDefined();

    const pem = await exportSPKI(pair.publicKey);
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const [, payload] = (await signed(pair)).split(".");
    for (const secret of [pem, pem.trim(), JSON.stringify(pair.jwk), pair.jwk.n ?? ""]) {
      const input = `${encode({ alg: "HS256", kid: "k1" })}.${payload}`;
      const forged = `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
      await expect(verify(forged)).rejects.toMatchObject({
        code: "ERR_UNAUTHENTICATED",
        message: "The token is not signed with an algorithm that is accepted here.",
      });
    }
  });

  it("cannot bring its own key", async () => {
    const [pair, attacker] = [await makeKeyPair("ES256", "k1"), await makeKeyPair("ES256", "k1")];
    const server = await startKeyServer(pair);
    const attackers = await startKeyServer(attacker);
    const verify = verifierFor(server);
    const header = { alg: "ES256", kid: "k1", jwk: attacker.jwk, jku: attackers.url };
    await expect(verify(await tokenWith(attacker.privateKey, header))).rejects.toMatchObject(BAD_SIGNATURE);
    await expect(verify(await signed(pair))).resolves.toBeDefined();
    expect(attackers.requests).toBe(0);
  });

  it("cannot use a secret that the key server publishes by mistake", async () => {
    const pair = await makeKeyPair("ES256", "k1");
    const secret = Buffer.alloc(32, 7);
    const server = await startKeyServer(pair);
    server.keys.push({ kty: "oct", k: secret.toString("base64url"), kid: "k2", alg: "HS256" });
    const verify = verifierFor(server);
    await expect(verify(await tokenWith(secret, { alg: "HS256", kid: "k2" }))).rejects.toMatchObject({
      code: "ERR_UNAUTHENTICATED",
      message: "The token is not signed with an algorithm that is accepted here.",
    });
    await expect(verify(await signed(pair))).resolves.toBeDefined();
  });

  it("cannot name a key of another kind", async () => {
    const [rsa, ec] = [await makeKeyPair("RS256", "rsa"), await makeKeyPair("ES256", "ec")];
    const verify = verifierFor(await startKeyServer(rsa, ec));
    const token = await tokenWith(ec.privateKey, { alg: "ES256", kid: "rsa" });
    await expect(verify(token)).rejects.toMatchObject(UNKNOWN_KEY);
    await expect(verify(await signed(ec))).resolves.toBeDefined();
  });

  it("cannot be checked with a key that is too short", async () => {
    const { publicKey } = await generateKeyPair("RS256", { extractable: true });
    const short = { ...(await exportJWK(publicKey)), n: "A".repeat(171), alg: "RS256", kid: "k1" };
    const pair = await makeKeyPair("RS256", "k1");
    const server = await startKeyServer();
    server.keys = [short];
    await expect(verifierFor(server)(await signed(pair))).rejects.toMatchObject({ code: "ERR_UNAUTHENTICATED" });
  });
});

describe("a key server that does not answer", () => {
  const html = "<!doctype html><title>Sorry</title>";

  it.each<[string, NonNullable<Awaited<ReturnType<typeof startKeyServer>>["answer"]>]>([
    ["with an error", (_, response) => response.writeHead(500).end()],
    ["with a page", (_, response) => response.end(html)],
    ["with something else in JSON", (_, response) => response.end('{"hello":"world"}')],
    ["with a redirect", (_, response) => response.writeHead(302, { location: "/elsewhere" }).end()],
    ["with a reset", (request) => request.socket.destroy()],
  ])("but %s makes nobody guilty", async (_, answer) => {
    stopClocks();
    const pair = await makeKeyPair("ES256", "k1");
    const server = await startKeyServer(pair);
    const verify = verifierFor(server);
    const [token = ""] = await several(1, () => signed(pair));
    server.answer = answer;
    await expect(verify(token)).rejects.toMatchObject(UNAVAILABLE);

    server.answer = undefined;
    passSeconds(1);
    await expect(verify(token)).resolves.toBeDefined();
  });

  it("is asked at most once a second", async () => {
    stopClocks();
    const pair = await makeKeyPair("ES256", "k1");
    const server = await startKeyServer(pair);
    server.answer = (_, response) => response.writeHead(503).end();
    const verify = verifierFor(server);
    const tokens = await several(50, (index) => signed(pair, { sub: `user-${index}` }));
    for (const token of tokens) await expect(verify(token)).rejects.toMatchObject(UNAVAILABLE);
    expect(server.requests).toBe(1);

    // Refusals do not put the next attempt off, or traffic would keep the server out for ever.
    passSeconds(0.6);
    await expect(verify(tokens[0] ?? "")).rejects.toMatchObject(UNAVAILABLE);
    passSeconds(0.6);
    for (const token of tokens) await expect(verify(token)).rejects.toMatchObject(UNAVAILABLE);
    expect(server.requests).toBe(2);
  });

  it("leaves the keys that are known in use, and says so of a key that is not", async () => {
    stopClocks();
    const pair = await makeKeyPair("ES256", "k1");
    const other = await makeKeyPair("ES256", "k2");
    const server = await startKeyServer(pair);
    const verify = verifierFor(server);
    await verify(await signed(pair));
    await server.close();

    passSeconds(60);
    await expect(verify(await signed(other))).rejects.toMatchObject(UNAVAILABLE);
    await expect(verify(await signed(pair, { sub: "user-2" }))).resolves.toBeDefined();
  });
});
