import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../config.ts";
import { ConfigInvalid } from "../errors.ts";

/** What tokens are signed and verified with where one shared secret does both. */
export interface SharedTokens {
  readonly secret: string;
  readonly issuer: string;
  readonly audience: string;
}

const FILE = "token-secret";

/**
 * The shared secret of tokens: ROWHOUSE_JWT_SECRET, or for a project on the embedded PostgreSQL one that is made once and
 * kept in its data directory, readable by its user only.
 *
 * @throws ConfigInvalid where tokens are verified by somebody else's keys, or servers are configured and no secret is
 */
export async function sharedTokens(config: Pick<Config, "tokens" | "urls" | "dataDirectory">): Promise<SharedTokens> {
  const { tokens, urls, dataDirectory } = config;
  const names = { issuer: tokens?.issuer ?? "rowhouse", audience: tokens?.audience ?? "rowhouse" };
  if (tokens?.secret !== undefined) return { secret: tokens.secret, ...names };
  if (tokens?.jwksUrl !== undefined) {
    throw new ConfigInvalid(
      "Tokens are verified with ROWHOUSE_JWKS_URL, so whoever holds those keys has to sign them.",
    );
  }
  if (urls !== undefined) {
    throw new ConfigInvalid("Set ROWHOUSE_JWT_SECRET (32 bytes or more, try `openssl rand -base64 48`).");
  }
  return { secret: await keptSecret(dataDirectory), ...names };
}

async function keptSecret(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, FILE);
  const own = `${file}.${randomBytes(6).toString("hex")}`;
  await writeFile(own, randomBytes(48).toString("base64url"), { mode: 0o600 });
  // A link is made whole or not at all: of two processes that start at once, one makes it and both read it.
  await link(own, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(own);
  return readFile(file, "utf8");
}
