import { useSyncExternalStore } from "react";
import { useChartGroup } from "@/charts/group";
import { isHealthy } from "@/charts/healthy-marks";
import { indexAtOrBefore, type Series } from "@/charts/series";
import type { Line } from "@/features/run/model/catalog";
import type { Meaning } from "@/features/run/ui/charts/use-meanings";
import { measured } from "@/lib/format";
import styles from "./charts.module.css";

interface Props {
  lines: readonly Line[];
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
}

/** The values under the crosshair, or the newest ones: the chart's legend. */
export function Readouts({ lines, series, meanings }: Props) {
  const { cursor } = useChartGroup();
  const step = useSyncExternalStore(cursor.subscribe, cursor.get);
  return (
    <p className={styles.readouts}>
      {lines.map((line, index) => {
        const one = series[line.name];
        const at = one ? (step === null ? one.steps.length - 1 : indexAtOrBefore(one.steps, step)) : -1;
        const value = one?.values[at];
        const healthy = meanings.get(line.name)?.healthy;
        const isOff = value !== undefined && healthy != null && !isHealthy(value, healthy);
        return (
          <span key={line.name} className={styles.readout} data-metric={line.name} data-points={one?.steps.length ?? 0}>
            <i data-line={index + 1} />
            {line.short && <span>{line.short}</span>}
            <b className={isOff ? styles.off : ""} title={isOff ? "Outside the healthy range" : undefined}>
              {measured(value)}
            </b>
            {one && at >= 0 && <small>step {one.steps[at]}</small>}
          </span>
        );
      })}
    </p>
  );
}
