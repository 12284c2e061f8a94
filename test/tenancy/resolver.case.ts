import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { RowhouseError } from "../../src/errors.ts";
import type { Resolution, ResolverLookups, ResolverRequest, TenantResolver } from "../../src/tenancy/resolver.ts";

export interface ResolverCase {
  readonly name: string;
  readonly resolver: TenantResolver;
  /** Answers what the resolver asks; the default knows no API key. */
  readonly lookups?: ResolverLookups;
  /** Requests that carry something of its kind, with what they mean. */
  readonly accepted: readonly {
    readonly what: string;
    readonly request: ResolverRequest;
    readonly means: Resolution;
  }[];
  /** Requests that carry nothing of its kind. */
  readonly passedOver: readonly { readonly what: string; readonly request: ResolverRequest }[];
  /** Requests that carry something of its kind that is not valid; none for a kind that cannot be invalid. */
  readonly refused: readonly { readonly what: string; readonly request: ResolverRequest; readonly message: string }[];
  /** Texts that may stand in no error: tokens, keys. */
  readonly secrets?: readonly string[];
}

/** The request with this host and these headers. Frozen: a resolver looks and does not touch. */
export function request(host: string, headers: Record<string, string | string[]> = {}): ResolverRequest {
  return Object.freeze({ host, headers: Object.freeze(headers) });
}

const noKeys: ResolverLookups = { apiKey: () => Promise.resolve(undefined) };

/** What every resolver must do, whatever its source is. */
export function describeResolver({ resolver, lookups = noKeys, ...expected }: ResolverCase): void {
  describe(`the resolver ${expected.name}`, () => {
    it("says its name", () => {
      expect(resolver.name).toBe(expected.name);
    });

    it.each(expected.accepted)("understands $what, and each time alike", async ({ request, means }) => {
      expect(await resolver.resolve(request, lookups)).toEqual(means);
      const together = await Promise.all([1, 2, 3].map(() => resolver.resolve(request, lookups)));
      expect(together).toEqual([means, means, means]);
    });

    it.each(expected.passedOver)("has nothing to say of $what", async ({ request }) => {
      expect(await resolver.resolve(request, lookups)).toBeUndefined();
    });

    it("has nothing to say of an empty request", async () => {
      expect(await resolver.resolve(request(""), lookups)).toBeUndefined();
    });

    it.each(expected.refused)(
      "refuses $what, without passing it on to a weaker source",
      async ({ request, message }) => {
        const error: unknown = await resolver.resolve(request, lookups).then(
          (resolution) => resolution,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(RowhouseError);
        expect(error).toMatchObject({ code: "ERR_UNAUTHENTICATED", message });
        const shown = inspect(error, { depth: 10, showHidden: true });
        for (const secret of expected.secrets ?? []) expect(shown).not.toContain(secret);
      },
    );
  });
}
