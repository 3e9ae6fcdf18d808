import { useMemo, useState } from "react";
import { Chart } from "@/charts/chart";
import type { Range } from "@/charts/axis";
import type { Series } from "@/charts/series";
import type { ChartSpec } from "@/features/run/model/chart-specs";
import type { Meaning } from "@/features/run/model/meanings";
import { useDetail } from "@/features/run/model/use-detail";
import { MetricNotes } from "@/features/run/ui/metric-notes";
import type { Stage } from "@/lib/states";

interface ChartCardProps {
  jobId: string;
  stage: Stage;
  spec: ChartSpec;
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
  /** The shown steps; null for all. */
  steps: Range | null;
}

/** One chart of a stage, of up to three metrics. */
export function ChartCard({ jobId, stage, spec, series, meanings, steps }: ChartCardProps) {
  const [visible, setVisible] = useState(false);
  const names = useMemo(() => spec.lines.map((line) => line.name), [spec]);
  const detail = useDetail({ jobId, stage, names, series, steps, visible });
  const measured = spec.lines.filter((line) => series[line.name]);
  const notes = measured.flatMap((line) => meanings.get(line.name) ?? []);
  const unit = notes[0]?.unit ?? "";
  const lines = measured.map(({ name, short, right }, index) => ({
    key: name,
    label: short,
    series: detail[name] ?? series[name] ?? NO_POINTS,
    colour: index,
    // A second axis only beside a first one.
    right: right && measured.length > 1,
    unit: meanings.get(name)?.unit ?? unit,
  }));
  return (
    <Chart
      title={spec.title}
      unit={unit}
      lines={lines}
      healthy={notes.find((note) => note.healthy)?.healthy ?? null}
      about={<MetricNotes title={spec.title} notes={notes} />}
      onVisible={setVisible}
    />
  );
}

const NO_POINTS: Series = { steps: [], values: [], min: null, max: null };
