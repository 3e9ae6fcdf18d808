import { type KeyboardEvent, useEffect, useRef } from "react";
import uPlot from "uplot";
import { type ChartData, shapeOf } from "@/charts/columns";
import { type StepRange, useChartGroup } from "@/charts/group";
import { readPalette, useScheme } from "@/charts/palette";
import { type Healthy, plotOptions } from "@/charts/plot-options";
import styles from "./charts.module.css";
import "uplot/dist/uPlot.min.css";

export const PLOT_HEIGHT = 176;

interface Props {
  chart: ChartData;
  right: ReadonlySet<string>;
  healthy: Healthy | null;
  label: string;
}

/** The one place that touches uPlot. Built anew when the lines or the colours change; otherwise it is only fed. */
export function Plot({ chart, right, healthy, label }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useScheme();
  const { syncKey, cursor, zoom, setZoom } = useChartGroup();
  const shape = shapeOf(chart.columns);
  const columns = useRef(chart.columns);
  useEffect(() => {
    columns.current = chart.columns;
  }, [chart.columns]);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const look = { columns: columns.current, right, healthy, palette: readPalette(element) };
    const options = plotOptions(
      { ...look, width: element.clientWidth, height: PLOT_HEIGHT },
      { syncKey, onStep: cursor.set, onZoom: (from, to) => setZoom({ from, to }), onReset: () => setZoom(null) },
    );
    const created = new uPlot(options, [[]], element);
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: PLOT_HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
    };
  }, [shape, scheme, right, healthy, syncKey, cursor, setZoom]);

  useEffect(() => {
    if (plot.current) feed(plot.current, chart, zoom);
  }, [chart, zoom, shape, scheme, right, healthy]);

  return (
    <div
      ref={host}
      className={styles.plot}
      style={{ height: PLOT_HEIGHT }}
      tabIndex={0}
      role="img"
      aria-label={label}
      onKeyDown={(event) => plot.current && walk(plot.current, event)}
    />
  );
}

function feed(plot: uPlot, chart: ChartData, zoom: StepRange | null): void {
  plot.setData(chart.data, zoom === null);
  if (zoom) plot.setScale("x", { min: zoom.from, max: zoom.to });
}

const WALK: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** The arrow keys move the crosshair as a pointer would, so that the other charts follow. */
function walk(plot: uPlot, event: KeyboardEvent): void {
  const by = WALK[event.key];
  if (!by) return;
  event.preventDefault();
  const steps = plot.data[0];
  const index = Math.min(steps.length - 1, Math.max(0, (plot.cursor.idx ?? (by > 0 ? -1 : steps.length)) + by));
  const { left, top, height } = plot.over.getBoundingClientRect();
  const x = left + plot.valToPos(steps[index] ?? 0, "x");
  plot.over.dispatchEvent(new MouseEvent("mousemove", { clientX: x, clientY: top + height / 2, bubbles: true }));
}
