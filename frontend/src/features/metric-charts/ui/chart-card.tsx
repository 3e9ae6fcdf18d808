import type { DragEvent } from "react";
import { Chart, type ChartProps } from "@/charts/chart";
import type { Meaning } from "@/features/metric-charts/model/meanings";
import { ChartMenu, type ChartPlace } from "@/features/metric-charts/ui/chart-menu";
import { MetricNotes } from "@/features/metric-charts/ui/metric-notes";

/** The place of a card among the others, and the actions on it. */
export interface CardParts {
  place?: ChartPlace | null;
  onEnlarge: () => void;
  onDragStart?: (event: DragEvent<HTMLElement>) => void;
}

/** A chart that is ready to be drawn, with the descriptions of its metrics. */
export interface DescribedChart {
  chart: ChartProps;
  notes: readonly Meaning[];
}

interface ChartCardProps extends CardParts, DescribedChart {
  onVisible?: (visible: boolean) => void;
}

/** One chart of a stage, with its menu. */
export function ChartCard({ chart, notes, place = null, onEnlarge, onDragStart, onVisible }: ChartCardProps) {
  const { title } = chart;
  return (
    <Chart
      {...chart}
      about={<MetricNotes title={title} notes={notes} />}
      actions={(plot) => <ChartMenu title={title} plot={plot} place={place} onEnlarge={onEnlarge} />}
      onEnlarge={onEnlarge}
      {...(onVisible && { onVisible })}
      {...(onDragStart && { onDragStart })}
    />
  );
}
