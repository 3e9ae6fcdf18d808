import type { ReadRow } from "@/features/datasets/model/read-row";

export interface Cell {
  readonly text: string;
  readonly preferred: boolean;
}

export interface Column {
  readonly title: string;
  readonly narrow?: boolean;
  readonly cell: (row: ReadRow | undefined) => Cell;
}

const LONGEST = 400;
const plain = (text: string): Cell => ({ text: text.slice(0, LONGEST), preferred: false });

/** The columns that these rows need: the prompt, their answers by name, and the verdict where one says something. */
export function tableColumns(rows: readonly ReadRow[]): Column[] {
  const names = [...new Set(rows.flatMap((row) => row.answers.map((answer) => answer.name)))].slice(0, 3);
  const columns: Column[] = [
    { title: "Prompt", cell: (row) => plain(row?.prompt.map((turn) => turn.text).join("\n") ?? "") },
    ...names.map((name) => ({
      title: name,
      cell: (row: ReadRow | undefined) => {
        const answer = row?.answers.find((one) => one.name === name);
        return answer ? { text: answer.text.slice(0, LONGEST), preferred: answer.preferred } : plain("");
      },
    })),
  ];
  if (!rows.some((row) => row.verdict)) return columns;
  return [...columns, { title: "Verdict", narrow: true, cell: (row) => plain(row?.verdict ?? "") }];
}
