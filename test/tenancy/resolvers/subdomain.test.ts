import { describe, expect, it } from "vitest";
import { subdomain } from "../../../src/tenancy/resolvers/subdomain.ts";
import { describeResolver, request } from "../resolver.case.ts";

const acme = { tenant: { by: "slug", slug: "acme" } } as const;

describeResolver({
  name: "subdomain",
  resolver: subdomain({ baseDomain: "Example.com." }),
  accepted: [
    { what: "a label below the base domain", request: request("acme.example.com"), means: acme },
    { what: "upper case", request: request("ACME.Example.COM"), means: acme },
    { what: "the root's dot", request: request("acme.example.com."), means: acme },
    {
      what: "a label in another script",
      request: request("münchen.example.com"),
      means: { tenant: { by: "slug", slug: "xn--mnchen-3ya" } },
    },
    {
      what: "a label that can be no slug, for the registry to find unknown",
      request: request("a_b.example.com"),
      means: { tenant: { by: "slug", slug: "a_b" } },
    },
  ],
  passedOver: [
    { what: "the base domain", request: request("example.com") },
    { what: "a reserved label", request: request("www.example.com") },
    { what: "a reserved label in upper case", request: request("API.example.com") },
    { what: "two labels", request: request("a.acme.example.com") },
    { what: "an empty label", request: request(".example.com") },
    { what: "another domain", request: request("acme.example.org") },
    { what: "a domain that only ends alike", request: request("acme.notexample.com") },
    { what: "the base domain in front", request: request("acme.example.com.evil.org") },
    { what: "an address", request: request("127.0.0.1") },
    { what: "an IPv6 address", request: request("[::1]") },
    { what: "a host with a path", request: request("acme.example.com/evil") },
    { what: "a host that hides one in a path", request: request("evil.org/acme.example.com") },
    { what: "a host with a user", request: request("acme.example.com@evil.org") },
    { what: "an encoded host", request: request("acme%2eexample.com") },
    { what: "a host with a tab", request: request("ac\tme.example.com") },
    { what: "two hosts", request: request("acme.example.com, globex.example.com") },
    { what: "a forwarded host", request: request("example.com", { "x-forwarded-host": "acme.example.com" }) },
  ],
  refused: [],
});

describe("subdomain", () => {
  it("works on localhost, where browsers resolve every name below it", async () => {
    const resolver = subdomain({ baseDomain: "localhost" });
    expect(await resolver.resolve(request("acme.localhost"), noLookups)).toEqual(acme);
    expect(await resolver.resolve(request("localhost"), noLookups)).toBeUndefined();
  });

  it("skips the labels that are reserved, and only those", async () => {
    const resolver = subdomain({ baseDomain: "example.com", reserved: ["acme"] });
    expect(await resolver.resolve(request("acme.example.com"), noLookups)).toBeUndefined();
    expect(await resolver.resolve(request("www.example.com"), noLookups)).toEqual({
      tenant: { by: "slug", slug: "www" },
    });
  });

  it.each(["", "com", "example.com:3000", "https://example.com", "exa mple.com", "*.example.com"])(
    "cannot have the base domain %j",
    (baseDomain) => {
      expect(() => subdomain({ baseDomain })).toThrow(
        expect.objectContaining({
          code: "ERR_CONFIG_INVALID",
          message: `baseDomain ${JSON.stringify(baseDomain)} must be a domain, such as "example.com".`,
        }),
      );
    },
  );
});

const noLookups = { apiKey: () => Promise.reject(new Error("a host name needs no look-up")) };
