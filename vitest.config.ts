import { defineConfig } from "vitest/config";

const conditions = ["rowhouse-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    globalSetup: ["test/global-setup.ts"],
    // Each test file has a database of its own, so files run side by side.
    pool: "forks",
    maxWorkers: 3,
    // Tests that start processes take long on a busy machine; none asserts a time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes about sooner or later: how soon is the machine's affair.
    expect: { poll: { timeout: 60_000 } },
  },
});
