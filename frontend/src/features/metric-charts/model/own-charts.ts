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

export const unitsOf = (units: readonly string[]): string[] => [...new Set(units)];
