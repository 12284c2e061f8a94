import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { onTestFinished } from "vitest";

export const ISSUER = "https://issuer.example";
export const AUDIENCE = "https://api.example";

export interface KeyPair {
  readonly jwk: JWK;
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;
}

export interface KeyServer {
  readonly url: string;
  /** Requests answered so far. */
  requests: number;
  /** What it publishes. */
  keys: JWK[];
  /** Answers in place of the key set, when set. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  close(): Promise<void>;
}

/** A server that publishes a JSON Web Key Set on this machine, closed after the test. */
export async function startKeyServer(...pairs: KeyPair[]): Promise<KeyServer> {
  const http = createServer((request, response) => {
    keyServer.requests += 1;
    if (keyServer.answer) return keyServer.answer(request, response);
    response.setHeader("content-type", "application/jwk-set+json").end(JSON.stringify({ keys: keyServer.keys }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      http.close(() => resolve());
      http.closeAllConnections();
    });
  const keyServer: KeyServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/jwks.json`,
    requests: 0,
    keys: pairs.map((pair) => pair.jwk),
    answer: undefined,
    close,
  };
  onTestFinished(close);
  return keyServer;
}

export async function makeKeyPair(alg: string, kid?: string): Promise<KeyPair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), alg, use: "sig", ...(kid === undefined ? {} : { kid }) };
  return { jwk, publicKey, privateKey };
}

/** A token that is right in every claim, but for those given; `undefined` leaves a claim out. */
export function tokenWith(
  key: CryptoKey | Uint8Array,
  header: { alg: string; kid?: string; [name: string]: unknown },
  claims: Record<string, unknown> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: ISSUER, aud: AUDIENCE, sub: "user-1", exp: now + 3600, tenant_id: TENANT_ID, ...claims };
  return new SignJWT(all).setProtectedHeader(header).sign(key);
}

export const TENANT_ID = "0198c7f0-1111-7000-8000-00000000000a";
