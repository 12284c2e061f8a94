import { hash, randomBytes } from "node:crypto";

/** What a program presents: the part that finds the key, and the digest of the part that proves it. */
export interface PresentedApiKey {
  /** 12 characters, unique over all tenants. Not a secret. */
  readonly prefix: string;
  /** SHA-256 of the secret part: 32 bytes. */
  readonly secretHash: Buffer;
}

/** A key that was just made. `key` is shown once and stored nowhere. */
export interface NewApiKey extends PresentedApiKey {
  readonly key: string;
}

/** What the database knows of a key that is neither expired nor revoked. */
export interface ApiKey {
  readonly id: string;
  /** The tenant's UUID. */
  readonly tenantId: string;
  readonly scopes: readonly string[];
}

// 32 characters, so that five bits of a random byte choose one without bias. i, l, o and u are left out (Crockford).
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX_LENGTH = 12;
const SECRET_LENGTH = 52;
const FORMAT = new RegExp(`^rh_([${ALPHABET}]{${PREFIX_LENGTH}})_([${ALPHABET}]{${SECRET_LENGTH}})$`);

/** What every API key begins with: it tells keys from tokens, and lets scanners find keys that leaked. */
export const API_KEY_MARK = "rh_";

/** Makes a key: `rh_<prefix>_<secret>`, with 60 random bits in the prefix and 260 in the secret. */
export function generateApiKey(): NewApiKey {
  const prefix = randomText(PREFIX_LENGTH);
  const secret = randomText(SECRET_LENGTH);
  return { key: `${API_KEY_MARK}${prefix}_${secret}`, prefix, secretHash: digest(secret) };
}

/** @returns undefined for what is not in the form of a key */
export function parseApiKey(text: string): PresentedApiKey | undefined {
  const [, prefix, secret] = FORMAT.exec(text) ?? [];
  if (prefix === undefined || secret === undefined) return undefined;
  return { prefix, secretHash: digest(secret) };
}

// One round of SHA-256 and no salt: a slow hash hampers guessing, and 260 random bits cannot be guessed anyway. NIST
// SP 800-63B-3, section 5.1.2.2, asks for salt and a slow function only below 112 bits.
function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte & 31]).join("");
}
