import { isNode, type Node, stringOf, stringsOf } from "./tree.ts";

/** What stands inside strings is not parsed, so a body may not say where its names are. */
const MENTIONS_PUBLIC = /\bpublic\b/i;

/** @returns why a DO block or a function cannot be rewritten, or undefined */
export function bodyProblem(kind: string, statement: Node): string | undefined {
  if (kind === "DoStmt") return textProblem(statement["args"], "the block");
  if (kind !== "CreateFunctionStmt") return undefined;
  const options = (statement["options"] as { DefElem?: Node }[] | undefined) ?? [];
  for (const { DefElem: option } of options) {
    const isSearchPath = option?.["defname"] === "set" && JSON.stringify(option["arg"]).includes('"search_path"');
    if (isSearchPath && MENTIONS_PUBLIC.test(JSON.stringify(option["arg"]))) {
      return "the function sets a search_path with public in it: leave it to the caller's, or make it empty";
    }
  }
  return textProblem(
    options.filter(({ DefElem: option }) => option?.["defname"] === "as"),
    "the function's body",
  );
}

function textProblem(options: unknown, what: string): string | undefined {
  for (const text of textsIn(options)) {
    if (MENTIONS_PUBLIC.test(text)) return `${what} names schema public, and it is a string: leave the schema out`;
  }
  return undefined;
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (!isNode(value)) return [];
  const own = stringOf(value);
  if (own !== undefined) return [own];
  return Object.values(value).flatMap((child) => stringsOf(child) ?? textsIn(child));
}
