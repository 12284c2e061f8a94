import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores([
    "dist",
    // A package of its own, with the peers it compares.
    "bench",
    ".dependency-cruiser.cjs",
    "node_modules",
    "**/node_modules",
    ".rowhouse",
    "src/generated",
    "examples/*/migrations",
  ]),
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // An un-awaited query outlives its tenant transaction; Drizzle's builders are thenables, not promises.
      "@typescript-eslint/no-floating-promises": ["error", { checkThenables: true }],
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-restricted-syntax": [
        "error",
        { selector: "ExportDefaultDeclaration", message: "Named exports only: a reader greps for one name." },
        { selector: "ExportAllDeclaration", message: "List what is exported: the public API is a decision." },
      ],
    },
  },
  {
    files: ["*.config.ts", "**/*.config.ts"],
    rules: { "no-restricted-syntax": "off" },
  },
  {
    files: ["test/**", "examples/**"],
    rules: {
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  {
    files: ["test/types/**"],
    // What is declared there is looked at for its type alone.
    rules: { "@typescript-eslint/no-unused-vars": "off" },
  },
);
