/**
 * Data travels one way (ARCHITECTURE.md, "The direction"):
 *   cli, index, testing -> http, lifecycle -> tenancy, auth, migrations, doctor -> database, tables -> config, errors
 */
const LEVELS = [
  ["cli/", "index.ts", "testing/"],
  ["rowhouse.ts"],
  ["http/", "lifecycle/"],
  ["jobs/", "webhooks/", "events/"],
  ["tenancy/", "auth/", "migrations/", "doctor/"],
  ["database/", "tables/"],
  ["config.ts", "errors.ts", "generated/"],
];

const pattern = (names) => `^src/(${names.map((name) => name.replace(".", "\\.")).join("|")})`;

const direction = LEVELS.slice(1).map((level, index) => ({
  name: `direction-${level[0].replace(/\W/g, "")}`,
  severity: "error",
  comment: `${level.join(", ")} may not import from a level above`,
  from: { path: pattern(level) },
  to: { path: pattern(LEVELS.slice(0, index + 1).flat()) },
}));

const only = (folder, dependency) => ({
  name: `only-${folder}-imports-${dependency}`,
  severity: "error",
  comment: `only src/${folder}/ may import ${dependency}`,
  from: { path: "^src/", pathNot: `^src/${folder}/` },
  to: { path: `node_modules/(@types/)?${dependency}/` },
});

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "no-unresolved", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "nobody-imports-the-entries",
      severity: "error",
      comment: "the command line, the barrel and the test kit are ends of the graph",
      from: { path: "^src/", pathNot: "^src/(cli|testing)/" },
      to: { path: "^src/(cli/|index\\.ts|testing/)" },
    },
    ...direction,
    only("database", "pg"),
    only("http", "express"),
    only("auth", "jose"),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["rowhouse-source", "import", "types", "node", "default"],
    },
  },
};
