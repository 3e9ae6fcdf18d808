import { LONGEST_TITLE, type Metric, unitsOf } from "@/features/metric-charts/model/own-charts";

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
