import type { Finding } from "@/lib/api/types";

type Severity = Finding["severity"];

const RANK: Record<Severity, number> = { blocking: 0, warning: 1, info: 2 };

/** A finding, and where it is from: a report, or (null) the import itself. */
export interface Found {
  readonly finding: Finding;
  readonly report: string | null;
}

/** What blocks first, then what warns, each with the most rows first; of equals the import's own. */
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

/** What a list of findings amounts to, in words. */
export function tally(findings: readonly Pick<Finding, "severity">[]): string {
  const number = (severity: Severity) => findings.filter((one) => one.severity === severity).length;
  const [blocking, warnings] = [number("blocking"), number("warning")];
  const parts = [blocking ? `${blocking} blocking` : "", warnings ? `${warnings} to look at` : ""].filter(Boolean);
  return parts.join(", ") || "Nothing to worry about";
}
