import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { ConfigInvalid } from "../errors.ts";

const ITERATIONS = 4096; // PostgreSQL's scram_iterations

/**
 * What PostgreSQL stores of a password (RFC 5802, section 3; https://www.postgresql.org/docs/current/catalog-pg-authid.html).
 * Sent instead of the password itself, which would otherwise stand in the server's statement log and in pg_stat_statements.
 *
 * @param password printable ASCII: other text would need SASLprep, which not every client applies alike
 * @returns `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`; it holds no quote and no backslash
 * @throws ConfigInvalid
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  if (!/^[\x20-\x7e]+$/.test(password)) {
    throw new ConfigInvalid("A database role's password must be printable ASCII and not empty. Choose another one.");
  }
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  const serverKey = hmac("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
