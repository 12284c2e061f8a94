/** Who calls: a user with a token, or a program with an API key. */
export interface Principal {
  readonly kind: "user" | "api-key";
  /** The token's `sub`, or the key's id. */
  readonly id: string;
  readonly scopes: readonly string[];
}
