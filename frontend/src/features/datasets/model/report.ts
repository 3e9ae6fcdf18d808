import type { Finding } from "@/lib/api/types";

interface Made {
  readonly id: string;
  readonly status: string;
}

/** The report that the address names; else the newest that is done; else the newest. `reports` are newest first. */
export function chosenReport<R extends Made>(reports: readonly R[], named: string | null): R | null {
  const newest = reports.find((one) => one.status === "succeeded") ?? reports[0] ?? null;
  return reports.find((one) => one.id === named) ?? newest;
}

/** A description of the settings of a report. */
export function settingsText(settings: Readonly<Record<string, unknown>>): string {
  const { model, max_prompt_tokens: prompt, max_completion_tokens: completion, chat_template: template } = settings;
  if (typeof model !== "string") return "without a model";
  const parts = [`for ${model}`];
  if (typeof prompt === "number" && typeof completion === "number") parts.push(`${prompt} + ${completion} tokens`);
  if (template === "none") parts.push("no chat template");
  return parts.join(", ");
}

/** In the order in which they are read; what is not here comes after it. */
const ORDER = [
  "rows",
  "prompts",
  "pairs",
  "rankings",
  "ties",
  "unlabelled",
  "thumbs_up",
  "thumbs_down",
  "good_steps",
  "neutral_steps",
  "bad_steps",
  "without_bad_steps",
  "annotators",
  "duplicates",
  "truncated",
];
const LABELS: Record<string, string> = {
  steps_sft: "steps of SFT",
  steps_reward_model: "steps of the reward model",
  steps_dpo: "steps of DPO",
  steps_kto: "steps of KTO",
  without_bad_steps: "solutions without a bad step",
};

const rank = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

/** A report's figures that are not 0, with their names for people. */
export function summaryItems(summary: Readonly<Record<string, number>>): [label: string, value: number][] {
  return Object.entries(summary)
    .filter(([, value]) => value !== 0)
    .sort(([one], [other]) => rank(one) - rank(other) || one.localeCompare(other))
    .map(([name, value]) => [LABELS[name] ?? name.replaceAll("_", " "), value]);
}

interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** Relative to the tallest bar, 0 to 1. */
  readonly height: number;
}

interface Binned {
  /** One more than `counts`. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/** A histogram's bars, all drawn equally wide: the last one reaches to the longest of all, and would dwarf the others. */
export function bars({ edges, counts }: Binned): Bar[] {
  const tallest = Math.max(1, ...counts);
  return counts.map((count, index) => {
    const from = edges[index] ?? 0;
    return { from, to: edges[index + 1] ?? from, count, height: count ? Math.max(0.012, count / tallest) : 0 };
  });
}

/** Where a value stands between the first bar's left side (0) and the last one's right side (1); null beyond them. */
export function placeOf(value: number, { edges, counts }: Binned): number | null {
  const at = counts.findIndex((_, index) => value >= (edges[index] ?? 0) && value <= (edges[index + 1] ?? 0));
  if (at === -1) return null;
  const [from = 0, to = 0] = edges.slice(at, at + 2);
  return (at + (to > from ? (value - from) / (to - from) : 0)) / counts.length;
}

type Severity = Finding["severity"];

const RANK: Record<Severity, number> = { blocking: 0, warning: 1, info: 2 };

/** A finding, and where it is from: a report, or (null) the import itself. */
export interface Found {
  readonly finding: Finding;
  readonly report: string | null;
}

/** Findings ordered by severity, then by rows. For equal ones, those of the import come first. */
export function ordered(imported: readonly Finding[], reported: readonly Finding[], report: string | null): Found[] {
  const all = [
    ...imported.map((finding) => ({ finding, report: null })),
    ...reported.map((finding) => ({ finding, report })),
  ];
  return all.sort(
    (one, other) =>
      RANK[one.finding.severity] - RANK[other.finding.severity] || other.finding.count - one.finding.count,
  );
}

const SHOWN = 8;

/** "lines 3, 17, 29 and 12 more". */
export function linesText({ lines, count }: Pick<Finding, "lines" | "count">): string {
  if (!lines.length) return "";
  const shown = lines.slice(0, SHOWN);
  const more = Math.max(count, lines.length) - shown.length;
  const text = shown.map((line) => line.toLocaleString("en-US")).join(", ");
  return `${lines.length === 1 && more <= 0 ? "line" : "lines"} ${text}${more > 0 ? ` and ${more.toLocaleString("en-US")} more` : ""}`;
}

/** A one-line summary of findings. */
export function tally(findings: readonly Pick<Finding, "severity">[]): string {
  const number = (severity: Severity) => findings.filter((one) => one.severity === severity).length;
  const [blocking, warnings] = [number("blocking"), number("warning")];
  const parts = [blocking ? `${blocking} blocking` : "", warnings ? `${warnings} to look at` : ""].filter(Boolean);
  return parts.join(", ") || "No blocking findings or warnings";
}
