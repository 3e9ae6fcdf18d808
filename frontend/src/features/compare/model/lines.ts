import { average, withoutBand } from "@/charts/average";
import type { ChartLine } from "@/charts/columns";
import { LINE_COLOURS } from "@/charts/palette";
import { placed } from "@/charts/placed";
import { emptySeries, type Series } from "@/charts/series";
import type { Group } from "@/features/compare/model/differences";
import type { PlacedCurve, PlacedRun } from "@/features/compare/model/placed-runs";
import type { Job } from "@/lib/api/types";

/** A metric of a chart. */
interface ComparedMetric {
  readonly name: string;
  readonly label: string;
  readonly unit: string;
  readonly right: boolean;
}

/** A line of a chart, or the reason why a group of runs has none. */
type Found =
  ChartLine | { readonly group: string; readonly metric: string; readonly why: "lacking" | "unplaced" | "apart" };

interface ComparedLines {
  readonly lines: readonly ChartLine[];
  /** Which lines are missing, in words. */
  readonly note: string | undefined;
  /** The reason why there is no line at all. */
  readonly nothing: string;
}

/** The bands of more lines than these would hide the lines. */
const MOST_BANDS = 8;

/** The lines of metrics: for each group of runs the run itself, or the mean of its runs and seeds. */
export function linesOf(
  groups: readonly Group<Job>[],
  runs: ReadonlyMap<string, PlacedRun>,
  metrics: readonly ComparedMetric[],
): ComparedLines {
  const hasBands = groups.length * metrics.length <= MOST_BANDS;
  const found = metrics.flatMap((metric, at) =>
    groups.map((group, index) => {
      const curves = group.runs.flatMap((run) => runs.get(run.id)?.curves.get(metric.name) ?? []);
      // One chart has a colour for each group; its metrics differ in their dashes.
      const look = { colour: index + LINE_COLOURS * at, unit: metric.unit, right: metric.right };
      return lineOf(group, curves, metric, metrics.length > 1, look, hasBands);
    }),
  );
  const lines = found.filter((one) => "key" in one);
  const missing = found.filter((one) => "why" in one);
  return {
    lines,
    note: lines.length ? noteOf(missing, metrics.length > 1) : undefined,
    nothing: nothing(missing, metrics),
  };
}

function lineOf(
  group: Group<Job>,
  curves: readonly PlacedCurve[],
  { name, label: metric }: ComparedMetric,
  isOneOfMany: boolean,
  look: Pick<ChartLine, "colour" | "unit" | "right">,
  hasBand: boolean,
): Found {
  const located = curves.filter(({ series, placement }) => placement && series.steps.length);
  const [only, ...others] = located;
  if (!only) return { group: group.short, metric, why: curves.length ? "unplaced" : "lacking" };
  const isMean = others.length > 0;
  const series = isMean ? average(located.map(onAxis)) : only.series;
  if (!series.steps.length) return { group: group.short, metric, why: "apart" };
  const mean = isMean ? `, mean of ${located.length}` : "";
  const of = isOneOfMany ? `: ${metric}` : "";
  const [run] = group.runs;
  const column = group.runs.length === 1 && run ? `${group.label} (${run.id})` : group.label;
  return {
    ...look,
    key: isOneOfMany ? `${name} ${group.key}` : group.key,
    label: group.short + of + mean,
    title: group.label + of + (mean && `${mean} runs with its 95 % interval`),
    column: isOneOfMany ? `${name} ${column}` : column,
    series: hasBand ? series : withoutBand(series),
    along: isMean ? null : (only.placement?.along ?? null),
    placed: isMean && Boolean(only.placement?.along),
  };
}

const onAxis = ({ series, placement }: PlacedCurve): Series =>
  placement?.along ? placed(series, placement.along) : placement ? series : emptySeries;

const WHY = {
  lacking: "Not measured in",
  unplaced: "No place on this axis in",
  apart: "No mean over runs that share no part of this axis:",
} as const;

const MOST_NAMED = 3;

function noteOf(missing: readonly Exclude<Found, ChartLine>[], namesMetrics: boolean): string | undefined {
  const reasons = new Map<string, string[]>();
  for (const { metric, why, group } of missing) {
    const reason = (namesMetrics ? `${metric}: ` : "") + WHY[why];
    reasons.set(reason, [...(reasons.get(reason) ?? []), group]);
  }
  const texts = [...reasons].map(([reason, names]) => {
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
    return `${reason} ${names.slice(0, MOST_NAMED).join(", ")}${more}.`;
  });
  return texts.join(" ") || undefined;
}

function nothing(missing: readonly Exclude<Found, ChartLine>[], metrics: readonly ComparedMetric[]): string {
  if (missing.some(({ why }) => why === "apart"))
    return "The runs of each line share no part of this axis, so they have no mean. Choose another axis.";
  if (missing.some(({ why }) => why === "unplaced"))
    return "No run has measured what the horizontal axis shows. Choose another axis.";
  return `No run has measured ${metrics.map(({ label }) => label).join(", ")}.`;
}
