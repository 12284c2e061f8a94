import { isNode, type Node, qualifiedLength, stringNode, stringsOf, walk } from "./tree.ts";

/** Where a dedicated schema's statements go. */
export interface DedicatedNames {
  /** `t_` and 32 hex digits. */
  readonly schema: string;
  /** The tenant's role. */
  readonly role: string;
  /** The role that the shared tables are granted to. */
  readonly appRole: string;
}

/** Keys of lists that are one qualified name: schema, name. */
const NAMES = [
  "names",
  "funcname",
  "typeName",
  "objname",
  "collname",
  "defnames",
  "domainname",
  "opclassname",
  "opfamilyname",
];
/** Keys of lists that are column names, where "public" is one. */
const COLUMNS: ReadonlySet<string> = new Set([
  "keys",
  "including",
  "fk_attrs",
  "pk_attrs",
  "fk_del_set_cols",
  "colnames",
  "cols",
  "attlist",
  "vals",
]);

/**
 * Puts the dedicated schema in `public`'s place wherever that stands before a name, and the tenant's role in the
 * application's. Names without a schema stay: the search_path says what they mean.
 * @returns why it cannot be done, or undefined
 */
export function rewriteNames(statement: Node, kind: string, names: DedicatedNames): string | undefined {
  const list = (value: unknown, least: number) => replaceFirst(value, least, names.schema);
  walk(statement, (node, key) => {
    if (node["schemaname"] === "public" && "relname" in node) node["schemaname"] = names.schema;
    if (node["rolename"] === names.appRole) node["rolename"] = names.role;
    for (const name of NAMES) list(node[name], 2);
    if (isNode(node["ColumnRef"])) list(node["ColumnRef"]["fields"], 3);
    // `owned by`, `comment on`, `drop`: a list of names, qualified where it has one name more than it needs.
    if (isNode(node["List"]) && (key === "arg" || key === "object" || key === "objects")) {
      list(node["List"]["items"], key === "arg" ? 3 : qualifiedLength(statement));
    }
    list(node["object"], qualifiedLength(statement));
    rewriteLiteral(node, names.schema);
  });
  if (kind === "GrantStmt" && statement["objtype"] === "OBJECT_SCHEMA") {
    statement["objects"] = (stringsOf(statement["objects"]) ?? []).map((name) =>
      stringNode(name === "public" ? names.schema : name),
    );
  }
  return leftOver(statement);
}

function replaceFirst(value: unknown, least: number, schema: string): void {
  if (!Array.isArray(value) || value.length < least) return;
  const [first] = value as unknown[];
  if (isNode(first) && isNode(first["String"]) && first["String"]["sval"] === "public") value[0] = stringNode(schema);
}

const NAME_TYPES: ReadonlySet<string> = new Set(["regclass", "regtype", "regproc", "regprocedure", "regoper"]);
const SEQUENCE_FUNCTIONS: ReadonlySet<string> = new Set(["nextval", "currval", "setval"]);

/** A text that is a name: cast to regclass and the like, or the sequence of nextval(). */
function rewriteLiteral(node: Node, schema: string): void {
  if (isNode(node["TypeCast"])) {
    const { arg, typeName } = node["TypeCast"];
    const type = isNode(typeName) ? stringsOf(typeName["names"])?.at(-1) : undefined;
    if (type !== undefined && NAME_TYPES.has(type)) rewriteText(arg, schema);
  }
  if (isNode(node["FuncCall"])) {
    const { funcname, args } = node["FuncCall"];
    const name = stringsOf(funcname)?.at(-1);
    if (name !== undefined && SEQUENCE_FUNCTIONS.has(name) && Array.isArray(args)) rewriteText(args[0], schema);
  }
}

function rewriteText(value: unknown, schema: string): void {
  const constant = isNode(value) ? value["A_Const"] : undefined;
  const text = isNode(constant) ? constant["sval"] : undefined;
  if (!isNode(text) || typeof text["sval"] !== "string") return;
  text["sval"] = text["sval"].replace(/^(?:public|"public")\./, `${schema}.`);
}

/** A schema's name that stands where no rule looked: nothing may be left to chance. */
function leftOver(statement: Node): string | undefined {
  let where: string | undefined;
  const least = (key: string) =>
    key === "fields" ? 3 : key === "items" || key === "object" ? qualifiedLength(statement) : 2;
  walk(statement, (node) => {
    for (const [key, value] of Object.entries(node)) {
      if (COLUMNS.has(key)) continue;
      if (key === "schemaname" && value === "public") where ??= key;
      const names = stringsOf(value);
      if (names && names.length >= least(key) && names[0] === "public") where ??= key;
    }
  });
  return where === undefined ? undefined : `it names schema public where it cannot be replaced (${where})`;
}
