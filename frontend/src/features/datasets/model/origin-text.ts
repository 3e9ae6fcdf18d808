type Origin = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | null => (typeof value === "string" && value ? value : null);
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Where a version came from, in a sentence. `parent` is the version that it was made of. */
export function originText(origin: Origin, parent: number | null): string {
  const before = parent === null ? "an earlier version" : `version ${parent}`;
  switch (origin.type) {
    case "upload":
      return uploaded(origin);
    case "fix":
      return fixed(list(origin.findings), before) + changedText(origin.changed);
    case "annotation":
      return `Judged by people${text(origin.round) ? ` in round ${text(origin.round)}` : ""}`;
    default:
      return text(origin.type) ?? "Unknown origin";
  }
}

function uploaded(origin: Origin): string {
  const from = text(origin.url) ?? text(origin.filename);
  const how = text(origin.format);
  const verb = text(origin.url) ? "Fetched" : "Uploaded";
  return `${verb}${from ? ` from ${from}` : ""}${how ? `, read as ${how.replaceAll("_", " ")}` : ""}`;
}

function fixed(findings: readonly string[], before: string): string {
  if (!findings.length) return `Made from ${before}`;
  return `Made from ${before} by fixing ${findings.map((code) => code.replaceAll("_", " ")).join(", ")}`;
}

const changedText = (changed: unknown): string =>
  typeof changed === "number" && changed > 0
    ? `, ${changed.toLocaleString("en-US")} ${changed === 1 ? "row" : "rows"} changed`
    : "";

/** "−12 rows" against the version before; empty where there is nothing to say. */
export function rowsChange(rows: number | null, before: number | null | undefined): string {
  if (rows === null || before === null || before === undefined || rows === before) return "";
  const size = Math.abs(rows - before).toLocaleString("en-US");
  return `${rows > before ? "+" : "−"}${size} ${size === "1" ? "row" : "rows"}`;
}
