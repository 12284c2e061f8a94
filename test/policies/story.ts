import { readFileSync } from "node:fs";
import path from "node:path";

/** One round of a rule's story: a fault, the findings that it must give, and the fix that must take them away. */
interface Round {
  readonly fault: Step;
  readonly findings: readonly { readonly key: string; readonly detail: string }[];
  readonly fix: Step;
}

export interface Step {
  readonly sql: string;
  /** `server_version_num` to pretend: a server cannot be aged for a test. */
  readonly server: string | undefined;
}

export interface Story {
  readonly before: Step;
  readonly rounds: readonly Round[];
}

type Section = { kind: string; lines: string[] };

/**
 * Reads `test/policies/<rule>.sql`. Sections begin with `-- fault`, `-- finding <key>` and `-- fix`; the detail of a finding
 * stands below it as `--   …`, `{{*}}` in it standing for anything; `-- server <number>` is a step's pretended version.
 */
export function readStory(rule: string): Story {
  const text = readFileSync(path.join(import.meta.dirname, `${rule}.sql`), "utf8");
  const sections: Section[] = [{ kind: "before", lines: [] }];
  for (const line of text.split("\n")) {
    const heading = /^-- (fault|fix|finding .*)$/.exec(line)?.[1];
    if (heading === undefined) sections.at(-1)!.lines.push(line);
    else sections.push({ kind: heading, lines: [] });
  }
  const [before, ...rest] = sections;
  return { before: toStep(before!), rounds: toRounds(rule, rest) };
}

function toRounds(rule: string, sections: Section[]): Round[] {
  const rounds: Round[] = [];
  while (sections.length > 0) {
    const [fault] = sections.splice(0, 1);
    const end = sections.findIndex((section) => section.kind === "fix");
    if (fault?.kind !== "fault" || end < 1) throw new Error(`${rule}.sql: a round is a fault, its findings and a fix`);
    const findings = sections.splice(0, end).map(({ kind, lines }) => ({
      key: kind.replace("finding ", ""),
      detail: (lines[0] ?? "").replace(/^--\s+/, ""),
    }));
    rounds.push({ fault: toStep(fault), findings, fix: toStep(sections.splice(0, 1)[0]!) });
  }
  return rounds;
}

function toStep({ lines }: Section): Step {
  const server = lines.map((line) => /^-- server (\d+)$/.exec(line)?.[1]).find((number) => number !== undefined);
  return { sql: lines.filter((line) => !line.startsWith("--")).join("\n"), server };
}
