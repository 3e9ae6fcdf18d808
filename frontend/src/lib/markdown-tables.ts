/** A text of Markdown, or a table of GitHub's Markdown, in the order of the whole text. */
export type MarkdownPart =
  | { readonly text: string }
  | {
      readonly head: readonly string[];
      readonly align: readonly Align[];
      readonly rows: readonly (readonly string[])[];
    };
type Align = "left" | "center" | "right" | undefined;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const DELIMITER = /^:?-+:?$/;

/**
 * Splits a text into its tables and what is between them. A table is a line of cells, a line of dashes with as many cells, and
 * the lines with a cell after it. Lines of a code block, and indented lines, are no table.
 */
export function markdownParts(text: string): MarkdownPart[] {
  const lines = text.split(/\r?\n/);
  const parts: MarkdownPart[] = [];
  let before: string[] = [];
  let fence: string | null = null;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const mark = FENCE.exec(line)?.[1] ?? null;
    if (mark && fence === null) fence = mark;
    else if (mark && fence && mark.startsWith(fence)) fence = null;
    const align = fence === null && !mark && isStart(lines[at - 1]) ? aligned(line, lines[at + 1]) : null;
    if (!align) {
      before.push(line);
      continue;
    }
    if (before.some(Boolean)) parts.push({ text: before.join("\n") });
    before = [];
    const rows: string[][] = [];
    const head = cellsOf(line);
    for (at += 2; isRow(lines[at]); at++) rows.push(fitted(cellsOf(lines[at] ?? ""), head.length));
    at -= 1;
    parts.push({ head, align, rows });
  }
  if (before.some(Boolean)) parts.push({ text: before.join("\n") });
  return parts;
}

/** Whether a table can begin after a line: it cannot within a paragraph's lines that hold a cell themselves. */
const isStart = (before: string | undefined): boolean => before === undefined || !before.includes("|");

const isRow = (line: string | undefined): boolean => line !== undefined && line.trim() !== "" && line.includes("|");

/** The alignment of the columns if a line is the head of a table, and `next` its dashes; else null. */
function aligned(line: string, next: string | undefined): Align[] | null {
  if (!line.includes("|") || !next?.includes("-") || /^( {4}|\t)/.test(line)) return null;
  const marks = cellsOf(next);
  if (marks.length !== cellsOf(line).length || !marks.every((mark) => DELIMITER.test(mark))) return null;
  return marks.map((mark) =>
    mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "right") : mark.startsWith(":") ? "left" : undefined,
  );
}

/** The cells of a line. A pipe after a backslash is part of its cell. */
function cellsOf(line: string): string[] {
  const cells = line
    .trim()
    .replace(/^\|/, "")
    .split(/(?<!\\)\|/);
  if (cells.length > 1 && cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const fitted = (cells: readonly string[], length: number): string[] =>
  Array.from({ length }, (_, index) => cells[index] ?? "");
