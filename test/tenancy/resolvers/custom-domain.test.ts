import { describe, expect, it } from "vitest";
import { customDomain } from "../../../src/tenancy/resolvers/custom-domain.ts";
import { describeResolver, request } from "../resolver.case.ts";

const means = (domain: string) => ({ tenant: { by: "domain", domain } }) as const;

describeResolver({
  name: "custom-domain",
  resolver: customDomain({ baseDomains: ["example.com", "Example.NET."] }),
  accepted: [
    { what: "a domain", request: request("billing.acme.org"), means: means("billing.acme.org") },
    { what: "upper case", request: request("Billing.ACME.org"), means: means("billing.acme.org") },
    { what: "the root's dot", request: request("billing.acme.org."), means: means("billing.acme.org") },
    { what: "another script", request: request("Bücher.example"), means: means("xn--bcher-kva.example") },
    {
      what: "another script in ASCII",
      request: request("xn--bcher-kva.example"),
      means: means("xn--bcher-kva.example"),
    },
    { what: "a domain that ends like ours", request: request("notexample.com"), means: means("notexample.com") },
  ],
  passedOver: [
    { what: "our domain", request: request("example.com") },
    { what: "our other domain", request: request("EXAMPLE.net") },
    { what: "what is below it", request: request("acme.example.com") },
    { what: "what is far below it", request: request("a.b.example.net.") },
    { what: "a name without a dot", request: request("localhost") },
    { what: "an address", request: request("10.1.2.3") },
    { what: "an address in hexadecimal", request: request("0x7f.1") },
    { what: "an IPv6 address", request: request("[::1]") },
    { what: "a host with a path", request: request("billing.acme.org/x") },
    { what: "a host with a port", request: request("billing.acme.org:80") },
    { what: "an encoded host", request: request("billing%2eacme.org") },
    { what: "a forwarded host", request: request("example.com", { "x-forwarded-host": "billing.acme.org" }) },
  ],
  refused: [],
});

describe("customDomain", () => {
  it("cannot have a base domain that is none", () => {
    expect(() => customDomain({ baseDomains: ["example.com", "http://example.com"] })).toThrow(
      expect.objectContaining({
        code: "ERR_CONFIG_INVALID",
        message: 'baseDomain "http://example.com" must be a domain, such as "example.com".',
      }),
    );
  });
});
