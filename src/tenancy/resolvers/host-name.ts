import { domainToASCII } from "node:url";
import { ConfigInvalid } from "../../errors.ts";
import { isDomain } from "../tenant.ts";

/**
 * A host name in the one form that is compared: lower case, IDN in ASCII (UTS 46), without the root's trailing dot.
 *
 * @returns undefined for what is not a host name: `domainToASCII` alone would read "a.example/b" as "a.example"
 */
export function normalizeHost(host: string): string | undefined {
  if (/[\s/\\?#@:%[\]]/.test(host)) return undefined;
  return domainToASCII(host).replace(/\.$/, "") || undefined;
}

/** @throws ConfigInvalid when it is not a domain */
export function normalizeBaseDomain(domain: string): string {
  const normalized = normalizeHost(domain);
  if (normalized === "localhost" || isDomain(normalized)) return normalized;
  throw new ConfigInvalid(`baseDomain ${JSON.stringify(domain)} must be a domain, such as "example.com".`);
}

/** What stands before the base domain: "" for the base domain itself, undefined for a host that is not below it. */
export function labelsBelow(host: string, baseDomain: string): string | undefined {
  if (host === baseDomain) return "";
  return host.endsWith(`.${baseDomain}`) ? host.slice(0, -baseDomain.length - 1) : undefined;
}
