import { useSyncExternalStore } from "react";
import { valueText } from "@/charts/axis";
import type { ChartPlot } from "@/charts/chart-plot";
import type { ChartLine } from "@/charts/columns";
import { useCharts } from "@/charts/group";
import { type Healthy, isHealthy } from "@/charts/healthy";
import { lineSample } from "@/charts/palette";
import { named, readout } from "@/charts/readout";
import { count, measured } from "@/lib/format";
import styles from "./charts.module.css";

interface LegendProps {
  plot: ChartPlot;
  lines: readonly ChartLine[];
  unit: string;
  healthy: Healthy | null;
  visible: boolean;
}

const never = () => () => undefined;
const nowhere = () => null;

/** The values under the crosshair, or the newest ones: those of the dots on the lines. */
export function Legend({ plot, lines, unit, healthy, visible }: LegendProps) {
  const { group, settings } = useCharts();
  const drawn = useSyncExternalStore(plot.subscribe, plot.getDrawn);
  // A chart off the screen does not follow the pointer.
  const position = useSyncExternalStore(visible ? group.onCursor : never, visible ? group.getCursor : nowhere);
  const values = lines.map((_, index) => readout(drawn.chart, index, position));
  const shown = named(values.map((found) => found?.value ?? null));
  return (
    <p className={`${styles.legend} ${shown.length > 1 ? styles.list : ""}`}>
      {lines.map((line, index) => {
        if (!shown.includes(index)) return null;
        const found = values[index] ?? null;
        const isOff = found !== null && healthy !== null && !line.right && !isHealthy(found.value, healthy);
        return (
          <span key={line.key} data-metric={line.key} data-points={line.series.steps.length}>
            <i
              data-line={index + 1}
              style={{ background: lineSample(line.colour ?? index) }}
              className={line.dashed ? styles.dashed : ""}
            />
            {line.label && <span title={line.title ?? line.label}>{line.label}</span>}
            <b className={isOff ? styles.off : ""} title={hint(found?.raw ?? null, isOff)} data-value={found?.value}>
              {found ? valueText(found.value, line.unit ?? unit, measured) : measured(null)}
            </b>
            {line.unit && line.unit !== "bytes" && line.unit !== unit && <small title={line.unit}>{line.unit}</small>}
          </span>
        );
      })}
      {shown.length < lines.length && (
        <small title={`The highest and the lowest of ${lines.length} lines`}>
          {shown.length} of {lines.length}
        </small>
      )}
      {drawn.outside > 0 && <small className={styles.note}>{count(drawn.outside, "point")} outside</small>}
      {settings.axis === "log-step" && lines.some(({ series }) => (series.steps[0] ?? 1) < 1) && (
        <small className={styles.note} title="0 has no logarithm.">
          without step 0
        </small>
      )}
      {drawn.scale !== settings.scale && (
        <small className={styles.note} title="Values at or below 0 have no logarithm.">
          symlog
        </small>
      )}
    </p>
  );
}

function hint(raw: number | null, isOff: boolean): string | undefined {
  const parts = [raw !== null && `${measured(raw)} before smoothing`, isOff && "outside the healthy range"];
  return parts.filter(Boolean).join(", ") || undefined;
}
