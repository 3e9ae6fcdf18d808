import { type DragEvent, useMemo, useState, useSyncExternalStore } from "react";
import type { Range } from "@/charts/axis";
import { Chart, type ChartProps } from "@/charts/chart";
import type { Series } from "@/charts/series";
import { Dialog } from "@/components/dialog";
import type { ChartSpec } from "@/features/run/model/chart-specs";
import type { Meaning } from "@/features/run/model/meanings";
import { useDetail } from "@/features/run/model/use-detail";
import { ChartMenu, type ChartPlace } from "@/features/run/ui/chart-menu";
import { MetricNotes } from "@/features/run/ui/metric-notes";
import type { Stage } from "@/lib/states";

export interface ChartCardProps {
  jobId: string;
  stage: Stage;
  spec: ChartSpec;
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
  /** The shown steps; null for all. */
  steps: Range | null;
  place?: ChartPlace | null;
  onDragStart?: (event: DragEvent<HTMLElement>) => void;
}

/** One chart of a stage, of up to three metrics. */
export function ChartCard({ place = null, onDragStart, ...card }: ChartCardProps) {
  const { jobId, stage, spec, series, meanings, steps } = card;
  const [visible, setVisible] = useState(false);
  const [enlarged, setEnlarged] = useState(false);
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
  const healthy = notes.find((note) => note.healthy)?.healthy ?? null;
  const chart: ChartProps = { title: spec.title, unit, lines, healthy };
  return (
    <>
      <Chart
        {...chart}
        about={<MetricNotes title={spec.title} notes={notes} />}
        actions={(plot) => (
          <ChartMenu title={spec.title} plot={plot} place={place} onEnlarge={() => setEnlarged(true)} />
        )}
        onVisible={setVisible}
        {...(onDragStart && { onDragStart })}
      />
      <Dialog open={enlarged} title={spec.title} full onClose={() => setEnlarged(false)}>
        <Enlarged {...chart} />
      </Dialog>
    </>
  );
}

const NO_POINTS: Series = { steps: [], values: [], min: null, max: null };

/** Pixels of the window that the frame of a dialog and the title of a chart take. */
const FRAME = 190;

function Enlarged(chart: ChartProps) {
  const height = useSyncExternalStore(onResize, () => window.innerHeight);
  return <Chart {...chart} height={Math.max(160, height - FRAME)} />;
}

function onResize(listener: () => void): () => void {
  window.addEventListener("resize", listener);
  return () => window.removeEventListener("resize", listener);
}
