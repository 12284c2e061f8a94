import { describe, expect, it } from "vitest";
import { ConfigInvalid } from "../../src/errors.ts";
import { scramVerifier } from "../../src/migrations/scram-verifier.ts";

describe("scramVerifier", () => {
  it("agrees with the example of RFC 7677, section 3", () => {
    // The keys follow from its password "pencil", salt and 4096 iterations; PostgreSQL's own tests have them too.
    expect(scramVerifier("pencil", Buffer.from("W22ZaJ0SNY7soEsUEjb6gQ==", "base64"))).toBe(
      "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
    );
  });

  it("salts each one anew", () => {
    expect(scramVerifier("pencil")).not.toBe(scramVerifier("pencil"));
  });

  it.each(["", "pässword", "two\nlines"])("refuses %j without repeating it", (password) => {
    expect(() => scramVerifier(password)).toThrow(
      new ConfigInvalid("A database role's password must be printable ASCII and not empty. Choose another one."),
    );
  });
});
