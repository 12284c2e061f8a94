import { EventEmitter, once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createTenantContext, type TenantScope } from "../../src/tenancy/context.ts";
import { ACME, GLOBEX } from "./fake-database.ts";

const acme: TenantScope = { tenant: ACME, principal: undefined, transaction: undefined };
const globex: TenantScope = { ...acme, tenant: GLOBEX };

describe("the tenant context", () => {
  it("cannot be read where no tenant is set: never all tenants", () => {
    const context = createTenantContext();
    expect(context.tryCurrent()).toBeUndefined();
    expect(() => context.current()).toThrow(
      expect.objectContaining({
        code: "ERR_TENANT_REQUIRED",
        message: expect.stringMatching(/^No tenant is set here\. Call this below rowhouse\.tenant\(\)/),
      }),
    );
    context.run(acme, () => expect(context.current()).toBe(acme));
  });

  it("follows promises and timers, and ends with the work", async () => {
    const context = createTenantContext();
    await context.run(acme, async () => {
      await setImmediate();
      expect(context.current()).toBe(acme);
    });
    expect(context.tryCurrent()).toBeUndefined();
  });

  it("keeps tenants apart that work at the same time", async () => {
    const context = createTenantContext();
    const seen = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const scope = index % 2 === 0 ? acme : globex;
        return context.run(scope, async () => {
          for (let turn = 0; turn < index % 7; turn += 1) await setImmediate();
          return context.current() === scope;
        });
      }),
    );
    expect(new Set(seen)).toEqual(new Set([true]));
  });

  it("is lost in a callback that a library calls elsewhere, unless it is bound", async () => {
    const context = createTenantContext();
    const elsewhere = new EventEmitter();
    const seen: (TenantScope | undefined)[] = [];
    context.run(acme, () => {
      elsewhere.on("done", () => seen.push(context.tryCurrent()));
      elsewhere.on(
        "done",
        context.bind(() => void seen.push(context.tryCurrent())),
      );
    });
    const done = once(elsewhere, "done");
    elsewhere.emit("done");
    await done;
    expect(seen).toEqual([undefined, acme]);
  });

  it("is not shared by two instances", () => {
    const [one, other] = [createTenantContext(), createTenantContext()];
    one.run(acme, () => {
      expect(other.tryCurrent()).toBeUndefined();
      expect(one.tryCurrent()).toBe(acme);
    });
  });
});
