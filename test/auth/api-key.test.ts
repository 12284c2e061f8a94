import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { generateApiKey, parseApiKey } from "../../src/auth/api-key.ts";

describe("an API key", () => {
  it("reads rh_<prefix>_<secret>, with a prefix that the database accepts", () => {
    const { key, prefix } = generateApiKey();
    expect(key).toMatch(/^rh_[0-9a-z]{12}_[0-9a-z]{52}$/);
    expect(key).toContain(`rh_${prefix}_`);
    expect(prefix).toMatch(/^[0-9a-z]{12}$/);
  });

  it("is kept as the SHA-256 digest of its secret", () => {
    const { key, secretHash } = generateApiKey();
    const secret = key.slice("rh_123456789012_".length);
    expect(secretHash).toEqual(createHash("sha256").update(secret).digest());
    expect(secretHash.length).toBe(32);
  });

  it("is parsed into what it was made of", () => {
    const { key, prefix, secretHash } = generateApiKey();
    expect(parseApiKey(key)).toEqual({ prefix, secretHash });
  });

  it("is another one each time, and uses its whole alphabet", () => {
    const keys = Array.from({ length: 500 }, generateApiKey);
    expect(new Set(keys.map((key) => key.prefix)).size).toBe(500);
    expect(new Set(keys.map((key) => key.secretHash.toString("hex"))).size).toBe(500);
    expect(new Set(keys.flatMap(({ key }) => [...key.slice("rh_123456789012_".length)])).size).toBe(32);
  });

  it("cannot be of another form", () => {
    const { key, prefix } = generateApiKey();
    const wrong = [
      "",
      "rh_",
      `rh_${prefix}`,
      `rh_${prefix}_`,
      key.slice(0, -1),
      `${key}0`,
      `${key}\n`,
      ` ${key}`,
      key.toUpperCase(),
      key.replace("rh_", "sk_"),
      `rh_${"u".repeat(12)}_${"0".repeat(52)}`,
      `rh_${"'; --"}_${"0".repeat(52)}`,
    ];
    for (const text of wrong) expect(parseApiKey(text)).toBeUndefined();
    expect(parseApiKey(key)).toBeDefined();
  });
});
