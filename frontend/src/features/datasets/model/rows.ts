/** Part of a prompt: a message, or, without a role, plain text. */
export interface Turn {
  readonly role: string | null;
  readonly text: string;
}

export interface Answer {
  readonly name: string;
  readonly text: string;
  readonly preferred: boolean;
}

interface Step {
  readonly text: string;
  readonly label: string;
}

interface ReadRow {
  readonly prompt: readonly Turn[];
  readonly answers: readonly Answer[];
  /** The steps of a solution with their labels; empty for other rows. */
  readonly steps: readonly Step[];
  /** The judgement as text: a thumb for a single answer, or that several are equal or not judged. */
  readonly verdict: "tie" | "unlabelled" | "thumb up" | "thumb down" | null;
  /** Other fields of the row, such as annotator and source. */
  readonly extra: readonly (readonly [string, string])[];
}

const KNOWN = new Set([
  "prompt",
  "a",
  "b",
  "label",
  "completion",
  "completions",
  "ranks",
  "thumb",
  "steps",
  "labels",
  "messages",
  "text",
]);
const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A stored row, in canonical form, as it is shown. */
export function readRow(row: Readonly<Record<string, unknown>>): ReadRow {
  return {
    prompt: turns(row.prompt ?? row.messages ?? row.text),
    steps: "steps" in row ? steps(row.steps, row.labels) : [],
    answers: "completions" in row ? ranked(row.completions, row.ranks) : answers(row),
    verdict: verdict(row),
    extra: Object.entries(row)
      .filter(([name, value]) => !KNOWN.has(name) && value !== null)
      .map(([name, value]) => [name, asText(value)] as const),
  };
}

function verdict(row: Readonly<Record<string, unknown>>): ReadRow["verdict"] {
  if (row.label === "tie") return "tie";
  if (row.thumb === "up" || row.thumb === "down") return `thumb ${row.thumb}`;
  const unlabelled = "completions" in row ? !Array.isArray(row.ranks) : "a" in row && typeof row.label !== "string";
  return unlabelled ? "unlabelled" : null;
}

function turns(prompt: unknown): Turn[] {
  if (!Array.isArray(prompt)) return [{ role: null, text: asText(prompt) }];
  return prompt.map((message: unknown) => {
    if (typeof message !== "object" || message === null) return { role: null, text: asText(message) };
    const role = "role" in message ? asText(message.role) : null;
    return { role, text: "content" in message ? asText(message.content) : "" };
  });
}

function answers(row: Readonly<Record<string, unknown>>): Answer[] {
  if ("completion" in row) return [{ name: "Completion", text: asText(row.completion), preferred: false }];
  if (!("a" in row)) return [];
  return [
    { name: "A", text: asText(row.a), preferred: row.label === "a" },
    { name: "B", text: asText(row.b), preferred: row.label === "b" },
  ];
}

function steps(texts: unknown, labels: unknown): Step[] {
  if (!Array.isArray(texts)) return [];
  const known: readonly unknown[] = Array.isArray(labels) ? labels : [];
  return texts.map((text: unknown, index) => ({ text: asText(text), label: asText(known[index] ?? "no label") }));
}

/** The completions of a ranking, best first. Unbeaten ones are marked, unless all are equal. */
function ranked(completions: unknown, ranks: unknown): Answer[] {
  if (!Array.isArray(completions)) return [];
  if (!Array.isArray(ranks)) {
    return completions.map((text, index) => ({ name: `Answer ${index + 1}`, text: asText(text), preferred: false }));
  }
  const numbers = ranks.map(Number);
  const best = Math.min(...numbers);
  const allEqual = numbers.every((rank) => rank === best);
  return completions
    .map((text: unknown, index) => ({ text: asText(text), rank: numbers[index] ?? best }))
    .sort((first, second) => first.rank - second.rank)
    .map(({ text, rank }) => ({ name: `Rank ${rank}`, text, preferred: rank === best && !allEqual }));
}

export interface Cell {
  readonly text: string;
  readonly preferred: boolean;
}

interface Column {
  readonly title: string;
  readonly narrow?: boolean;
  readonly cell: (row: ReadRow | undefined) => Cell;
}

const LONGEST = 400;
const plain = (text: string): Cell => ({ text: text.slice(0, LONGEST), preferred: false });

/** The columns that these rows need: the prompt, the answers by name, and the verdict where a row has one. */
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
  if (rows.some((row) => row.steps.length > 0)) {
    const inWords = (row: ReadRow | undefined) => row?.steps.map(({ text, label }) => `${label}: ${text}`).join("\n");
    columns.push({ title: "Steps", cell: (row) => plain(inWords(row) ?? "") });
  }
  if (!rows.some((row) => row.verdict)) return columns;
  return [...columns, { title: "Verdict", narrow: true, cell: (row) => plain(row?.verdict ?? "") }];
}
