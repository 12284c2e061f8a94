/**
 * What it costs to verify a token that was not seen before, against one that was: microseconds each, medians of seven
 * rounds. Run it with `npx tsx test/auth/verify-token.bench.ts`.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createTokenVerifier, type TokenVerifier } from "../../src/auth/verify-token.ts";
import { AUDIENCE, ISSUER, makeKeyPair, tokenWith } from "./key-server.ts";

const ROUNDS = 7;
const TOKENS = 1_500;
const checks = { issuer: ISSUER, audience: AUDIENCE };
const secret = "a secret of at least thirty-two bytes";

async function microseconds(verify: TokenVerifier, tokens: string[]): Promise<number> {
  const start = process.hrtime.bigint();
  for (const token of tokens) await verify(token);
  return Number(process.hrtime.bigint() - start) / 1_000 / tokens.length;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function compare(name: string, makeVerifier: () => TokenVerifier, makeToken: (n: number) => Promise<string>) {
  const tokens: string[] = [];
  for (let n = 0; n < TOKENS; n += 1) tokens.push(await makeToken(n));
  const fresh: number[] = [];
  const known: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const verify = makeVerifier();
    // The first one pays for fetching the keys.
    await verify(await makeToken(-1));
    fresh.push(await microseconds(verify, tokens));
    known.push(await microseconds(verify, tokens));
  }
  const [first, again] = [median(fresh), median(known)];
  console.log(`${name}  new ${first.toFixed(1)} µs  known ${again.toFixed(1)} µs  ratio ${(first / again).toFixed(0)}`);
}

await compare(
  "HS256",
  () => createTokenVerifier({ secret, ...checks }),
  (n) => tokenWith(new TextEncoder().encode(secret), { alg: "HS256" }, { sub: `user-${n}` }),
);

for (const alg of ["RS256", "ES256"]) {
  const pair = await makeKeyPair(alg, "k1");
  const server = createServer((_, response) => response.end(JSON.stringify({ keys: [pair.jwk] })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await compare(
    alg,
    () => createTokenVerifier({ jwksUrl, ...checks }),
    (n) => tokenWith(pair.privateKey, { alg, kid: "k1" }, { sub: `user-${n}` }),
  );
  server.close();
  server.closeAllConnections();
}
