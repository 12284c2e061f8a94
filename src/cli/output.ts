/** What a command prints: one JSON value with `--json`, lines for people otherwise. */
export function print(value: unknown, isJson: boolean | undefined, lines: () => string): void {
  process.stdout.write(`${isJson ? JSON.stringify(value, null, 2) : lines()}\n`);
}

type Cell = string | number | Date | null | undefined;

/** Rows in columns, under their titles. */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = [titles, ...rows.map((row) => row.map(text))];
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function text(cell: Cell): string {
  if (cell instanceof Date) return cell.toISOString();
  return cell === null || cell === undefined ? "-" : String(cell);
}
