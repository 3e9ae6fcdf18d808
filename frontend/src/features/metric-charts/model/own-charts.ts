import type { ChartSpec } from "@/features/metric-charts/model/chart-specs";

/** A chart of several metrics that a user has made for a stage. */
export interface OwnChart {
  readonly title: string;
  /** Names of its metrics, in the order of its lines. */
  readonly metrics: readonly string[];
  /** Whether its vertical axis is logarithmic. The scale of the toolbar then does not apply. */
  readonly log: boolean;
}

/** A metric that a chart can show. */
export interface Metric {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
}

/** Each line of a chart has a colour of its own, so a chart has at most as many metrics as there are colours. */
export const MOST_METRICS = 8;
export const LONGEST_TITLE = 60;
const LONGEST_NAME = 200;

/** The charts in a stored value. Entries that are no charts are left out, and so is a second one with the same title. */
export function readOwn(stored: unknown): OwnChart[] {
  const found = new Map<string, OwnChart>();
  for (const one of Array.isArray(stored) ? (stored as unknown[]) : []) {
    if (typeof one !== "object" || one === null) continue;
    const { title, metrics, log } = one as Record<string, unknown>;
    if (typeof title !== "string" || !title.trim() || !Array.isArray(metrics)) continue;
    const isName = (name: unknown): name is string =>
      typeof name === "string" && name !== "" && name.length <= LONGEST_NAME;
    const names = [...new Set(metrics.filter(isName))].slice(0, MOST_METRICS);
    const short = title.trim().slice(0, LONGEST_TITLE);
    if (names.length && !found.has(short)) found.set(short, { title: short, metrics: names, log: log === true });
  }
  return [...found.values()];
}

type Described = Pick<Metric, "label" | "unit">;

/** The user's charts as the page draws them. One whose title a chart of `taken` has is marked as the user's. */
export function ownSpecs(
  own: readonly OwnChart[],
  meanings: ReadonlyMap<string, Described>,
  taken: readonly string[],
): ChartSpec[] {
  return own.map((chart) => {
    const units = unitsOf(chart.metrics.map((name) => meanings.get(name)?.unit ?? ""));
    const lines = chart.metrics.map((name) => ({
      name,
      short: meanings.get(name)?.label ?? name,
      right: units.length === 2 && (meanings.get(name)?.unit ?? "") === units[1],
    }));
    const title = taken.includes(chart.title) ? `${chart.title} (yours)` : chart.title;
    return { title, lines, own: chart };
  });
}

const unitsOf = (units: readonly string[]): string[] => [...new Set(units)];

/** Which axis shows which unit; null where all metrics have the same one. */
export function axesText(metrics: readonly Metric[]): string | null {
  const units = unitsOf(metrics.map(({ unit }) => unit)).map((unit) => unit || "values without a unit");
  const [left = "", right = ""] = units;
  if (units.length < 2) return null;
  if (units.length === 2) return `Two units: the left axis shows ${left}, the right one ${right}.`;
  return `${units.length} units share one axis: ${units.join(", ")}. Their values cannot be compared by height.`;
}

/** A title for a chart that has none: the names of its metrics, as many as fit. */
export function usualTitle(metrics: readonly Metric[]): string {
  const labels = metrics.map(({ label }) => label);
  const whole = labels.join(", ");
  if (whole.length <= LONGEST_TITLE) return whole;
  const first = labels[0] ?? "";
  return `${first.slice(0, LONGEST_TITLE - 12)} and ${labels.length - 1} more`;
}

/** Finds metrics by a regular expression over name or label. Text that is no regular expression is searched for as it is. */
export function metricFilter(text: string): (metric: Metric) => boolean {
  const wanted = text.trim().toLowerCase();
  const pattern = patternOf(text.trim());
  return ({ name, label }) =>
    [name, label].some((one) => (pattern ? pattern.test(one) : one.toLowerCase().includes(wanted)));
}

function patternOf(text: string): RegExp | null {
  try {
    return new RegExp(text, "iu");
  } catch {
    return null;
  }
}
