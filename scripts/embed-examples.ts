/**
 * Copies tested examples into the documents: the code block after `<!-- from PATH -->` is that file.
 * `--check` fails where one differs, and where a TypeScript block comes from nowhere.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";

const isCheck = process.argv.includes("--check");
const BLOCK = /<!-- from (\S+) -->\n```(\w+)\n[^]*?```/g;
let failures = 0;

for await (const file of documents()) {
  const text = await readFile(file, "utf8");
  const sources = new Map<string, string>();
  for (const [, source = ""] of text.matchAll(BLOCK)) sources.set(source, (await readFile(source, "utf8")).trimEnd());
  const wanted = text.replace(BLOCK, (_block, source: string, language: string) => {
    return `<!-- from ${source} -->\n\`\`\`${language}\n${sources.get(source) ?? ""}\n\`\`\``;
  });
  const untested = wanted.replace(BLOCK, "").match(/```ts\n/g)?.length ?? 0;
  if (untested > 0) {
    console.error(
      `${file}: ${untested} TypeScript block(s) come from no tested file. Put \`<!-- from PATH -->\` above them.`,
    );
    failures++;
  }
  if (wanted === text) continue;
  if (isCheck) {
    console.error(`${file}: an example differs from its file. Run \`npm run gen:docs\`.`);
    failures++;
  } else {
    await writeFile(file, wanted);
  }
}
process.exitCode = failures > 0 ? 1 : 0;

async function* documents() {
  for (const root of ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md"]) yield root;
  for (const name of await readdir("docs")) if (name.endsWith(".md")) yield `docs/${name}`;
}
