import { type CSSProperties, useSyncExternalStore } from "react";
import { positionText } from "@/charts/axis";
import type { ChartPlot } from "@/charts/chart-plot";
import { useCharts } from "@/charts/group";
import styles from "./charts.module.css";

/**
 * The position of the crosshair at its foot, and the events there beside it. They lie over the plot, where they take no room
 * from the title. The events are shown on the chart that has the pointer or the focus, as they are the same on each.
 */
export function CursorLabels({ plot }: { plot: ChartPlot }) {
  const { settings, axisName } = useCharts();
  const crosshair = useSyncExternalStore(plot.subscribe, plot.getCrosshair);
  if (!crosshair) return <span data-position={undefined} />;
  const { position, left, share } = crosshair;
  const events = plot.marksUnder(position);
  const style = { "--left": `${left}px`, "--share": share } as CSSProperties;
  return (
    <div className={styles.cursor} style={style} data-position={position}>
      <span>{positionText(settings.axis, position, axisName || undefined)}</span>
      {events && <b className={share < 0.5 ? styles.after : styles.before}>{events}</b>}
    </div>
  );
}
