import { Suspense } from "react";
import { Dialog } from "@/components/dialog";
import { loadable } from "@/components/loadable";
import { toast } from "@/components/toast";
import type { ChartSpec } from "@/features/metric-charts/model/chart-specs";
import { arrange } from "@/features/metric-charts/model/arrange";
import { layoutOf } from "@/features/metric-charts/model/layout";
import type { Meaning } from "@/features/metric-charts/model/meanings";
import type { Metric, OwnChart } from "@/features/metric-charts/model/own-charts";
import { withOwn, withoutOwn, withRestored } from "@/features/metric-charts/model/own-layout";

const ChartForm = loadable(async () => (await import("@/features/metric-charts/ui/chart-form")).ChartForm);

export interface ChartEditorProps {
  /** The chart to change; null for a new one. */
  chart: OwnChart | null;
  open: boolean;
  /** Names the arrangement: see layout.ts. */
  place: string;
  /** All charts of the stage. */
  charts: readonly ChartSpec[];
  /** Names of the metrics that a chart may show. */
  names: readonly string[];
  meanings: ReadonlyMap<string, Meaning>;
  onClose: () => void;
}

/** A dialog for a chart of chosen metrics. */
export function ChartEditor({ chart, open, place, charts, names, meanings, onClose }: ChartEditorProps) {
  const save = (made: OwnChart) => {
    arrange(place, (before) => withOwn(before, made, chart));
    onClose();
    if (chart) toast("The chart is changed.", { undo: () => arrange(place, (now) => withOwn(now, chart, made)) });
  };
  return (
    <Dialog open={open} title={chart ? "Edit the chart" : "Add a chart"} onClose={onClose}>
      <Suspense fallback={null}>
        <ChartForm
          chart={chart}
          metrics={metricsOf([...names, ...(chart?.metrics ?? [])], meanings)}
          taken={charts.flatMap(({ title, own }) => (chart && own === chart ? [] : [title]))}
          onSave={save}
          onClose={onClose}
        />
      </Suspense>
    </Dialog>
  );
}

const metricsOf = (names: readonly string[], meanings: ReadonlyMap<string, Meaning>): Metric[] =>
  [...new Set(names)]
    .map((name) => ({ name, label: meanings.get(name)?.label ?? name, unit: meanings.get(name)?.unit ?? "" }))
    .sort((a, b) => a.label.localeCompare(b.label));

/** Deletes a chart of the user, and offers to take that back. */
export function deleteChart(place: string, chart: OwnChart): void {
  const before = layoutOf(place);
  arrange(place, (now) => withoutOwn(now, chart));
  toast(`The chart “${chart.title}” is deleted.`, {
    undo: () => arrange(place, (now) => withRestored(now, before, chart)),
  });
}
