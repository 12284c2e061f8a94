import { isNode, type Node, qualifiedLength, stringOf, stringsOf, textUnder, walk } from "./tree.ts";

/** What a statement is to a dedicated schema: its own to run, done once for all, or nothing that can be said of it. */
export type Scope = "own" | "once" | { readonly refused: string };

/** Schemas whose objects exist once in a database: they were migrated with the shared target. */
const ONCE: ReadonlySet<string> = new Set([
  "global",
  "rowhouse",
  "extensions",
  "pg_catalog",
  "information_schema",
  "pg_temp",
]);

const ONCE_STATEMENTS: ReadonlySet<string> = new Set([
  "CreateExtensionStmt",
  "AlterExtensionStmt",
  "CreateRoleStmt",
  "AlterRoleStmt",
  "AlterRoleSetStmt",
  "DropRoleStmt",
  "GrantRoleStmt",
  "AlterDatabaseStmt",
  "AlterDatabaseSetStmt",
  "AlterDefaultPrivilegesStmt",
  "CreateEventTrigStmt",
  "AlterEventTrigStmt",
]);

const REFUSED_STATEMENTS: ReadonlyMap<string, string> = new Map([
  ["AlterObjectSchemaStmt", "it moves an object to another schema"],
  ["CreatePublicationStmt", "a publication would send one tenant's rows elsewhere"],
  ["AlterPublicationStmt", "a publication would send one tenant's rows elsewhere"],
  ["CreateSubscriptionStmt", "a subscription writes past the tenants"],
  ["AlterSubscriptionStmt", "a subscription writes past the tenants"],
  ["CreateForeignTableStmt", "a foreign table has no wall"],
  ["ImportForeignSchemaStmt", "a foreign table has no wall"],
  ["CreateForeignServerStmt", "a foreign server is the database's, not a tenant's"],
]);

const ONCE_OBJECTS: ReadonlySet<string> = new Set([
  "OBJECT_EXTENSION",
  "OBJECT_EVENT_TRIGGER",
  "OBJECT_ROLE",
  "OBJECT_DATABASE",
  "OBJECT_SCHEMA",
]);

/** The policies of the framework's own template, which a dedicated schema does without. */
const TEMPLATE_POLICIES: ReadonlySet<string> = new Set(["tenant_isolation", "tenant_access", "owner_access"]);

/** Says what a statement is to a dedicated schema, by its kind and by the schemas that it names. */
export function scopeOf(kind: string, statement: Node): Scope {
  if (ONCE_STATEMENTS.has(kind)) return "once";
  const reason = REFUSED_STATEMENTS.get(kind) ?? settingOf(kind, statement);
  if (reason !== undefined) return { refused: reason };
  if (kind === "CreateSchemaStmt") return scopeOfSchemas([textUnder(statement, "schemaname")], true);
  if (kind === "CreatePolicyStmt" || kind === "AlterPolicyStmt")
    return policyScope(textUnder(statement, "policy_name"));
  if (kind === "DropStmt" && statement["removeType"] === "OBJECT_POLICY") {
    return policyScope(lastName((statement["objects"] as unknown[])[0]) ?? "");
  }
  if (kind === "GrantStmt" && statement["objtype"] === "OBJECT_SCHEMA") {
    return scopeOfSchemas(stringsOf(statement["objects"]) ?? [], false);
  }
  const object = (statement["removeType"] ?? statement["objtype"] ?? statement["renameType"]) as string | undefined;
  if (object !== undefined && ONCE_OBJECTS.has(object)) return "once";
  const foreign = [...schemasIn(statement)].find((schema) => schema !== "public" && !ONCE.has(schema));
  if (foreign !== undefined) {
    return { refused: `it names schema "${foreign}": a tenant's tables live in public, what all share in global` };
  }
  return scopeOfSchemas(subjectSchemas(statement), false);
}

/** SET that would change where the next statements go; other settings are the migration's own affair. */
function settingOf(kind: string, statement: Node): string | undefined {
  if (kind !== "VariableSetStmt") return undefined;
  const name = textUnder(statement, "name") || "all";
  const isOurs = ["search_path", "role", "session_authorization", "all"].includes(name);
  return isOurs ? `it sets ${name}, which decides where the next statements go` : undefined;
}

function policyScope(name: string): Scope {
  if (TEMPLATE_POLICIES.has(name)) return "once";
  return {
    refused: `a dedicated schema has no row-level security, so policy "${name}" would be lost: use a check, a trigger or the code`,
  };
}

/** @param subjects the schemas of what the statement makes, changes or drops; `public` for what names none */
function scopeOfSchemas(subjects: readonly string[], isSchemaItself: boolean): Scope {
  const own = subjects.filter((schema) => schema === "public");
  const foreign = subjects.find((schema) => schema !== "public" && !ONCE.has(schema));
  if (foreign !== undefined) {
    return { refused: `it is about schema "${foreign}": a tenant's tables live in public, what all share in global` };
  }
  if (isSchemaItself) return "once";
  if (own.length === 0 && subjects.length > 0) return "once";
  if (own.length < subjects.length) {
    return { refused: "it is about tables of tenants and of schema global together: write one statement for each" };
  }
  return "own";
}

/** Keys under which a statement names what it is about. */
const SUBJECTS = [
  "relation",
  "sequence",
  "view",
  "into",
  "table",
  "typeName",
  "domainname",
  "funcname",
  "object",
  "objects",
  "func",
];

/** The schemas of what the statement is about: `public` where no schema is named. */
function subjectSchemas(statement: Node): string[] {
  const schemas: string[] = [];
  const add = (names: readonly string[]) =>
    void schemas.push(names.length >= qualifiedLength(statement) ? (names[0] ?? "public") : "public");
  for (const key of [...SUBJECTS, "relations"]) {
    const value = statement[key];
    if (value === undefined) continue;
    const names = stringsOf(value);
    if (names) add(names);
    else for (const item of Array.isArray(value) ? value : [value]) subjectOf(item, add);
  }
  return schemas;
}

function subjectOf(item: unknown, add: (names: readonly string[]) => void): void {
  if (!isNode(item)) return;
  const range = (item["RangeVar"] ?? item["rel"] ?? item) as Node;
  if (typeof range["relname"] === "string") {
    const schema = textUnder(range, "schemaname");
    return add(schema === "" ? [range["relname"]] : [schema, range["relname"]]);
  }
  const list = (item["List"] as Node | undefined)?.["items"];
  const names =
    stringsOf(list) ??
    stringsOf((item["TypeName"] as Node | undefined)?.["names"]) ??
    stringsOf((item["ObjectWithArgs"] as Node | undefined)?.["objname"]);
  if (names) add(names);
}

function lastName(item: unknown): string | undefined {
  const items = isNode(item) && isNode(item["List"]) ? item["List"]["items"] : undefined;
  return Array.isArray(items) ? stringOf(items.at(-1)) : undefined;
}

/** Every schema that stands before a table's, a type's or a function's name in the statement. */
function schemasIn(statement: Node): Set<string> {
  const schemas = new Set<string>();
  walk(statement, (node) => {
    if (typeof node["schemaname"] === "string" && "relname" in node) schemas.add(node["schemaname"]);
    for (const key of ["names", "funcname", "typeName", "domainname", "objname", "collname"]) {
      const names = stringsOf(node[key]);
      if (names && names.length >= 2) schemas.add(names[0] as string);
    }
  });
  return schemas;
}
