import { useState } from "react";
import { ChartColumns } from "@/charts/chart-columns";
import type { Meaning } from "@/features/metric-charts/model/meanings";
import type { Drawing } from "@/features/metric-charts/ui/chart-grid";
import { FullScreen } from "@/features/metric-charts/ui/full-screen";
import styles from "./charts.module.css";

interface AllMetricsProps extends Drawing {
  /** The measured metrics; null until they are known. */
  names: readonly string[] | null;
  meanings: ReadonlyMap<string, Meaning>;
  /** Only metrics whose name or label holds this text; empty for all. */
  find: string;
  onOpen?: () => void;
}

/** Every metric of the stage, each with a chart of its own. Drawn only when opened or searched. */
export function AllMetrics({ names, meanings, find, onOpen, draw, drawLarge }: AllMetricsProps) {
  const [open, setOpen] = useState(false);
  const [enlarged, setEnlarged] = useState<string | null>(null);
  const label = (name: string) => meanings.get(name)?.label ?? name;
  const shown = (names ?? []).toSorted().filter((name) => `${name} ${label(name)}`.toLowerCase().includes(find));
  const charts = shown.map((name) => ({ title: label(name), lines: [{ name, short: "", right: false }] }));
  const count = find && names ? `${shown.length} of ${names.length}` : names?.length;
  return (
    <details
      className={styles.all}
      open={open || find !== ""}
      onToggle={(event) => {
        if (event.currentTarget.open) onOpen?.();
        if (!find) setOpen(event.currentTarget.open);
      }}
    >
      <summary>All metrics{count !== undefined && ` (${count})`}</summary>
      {find !== "" && names && shown.length === 0 && <p className={styles.hint}>No metric has “{find}” in its name.</p>}
      {(open || find !== "") && (
        <ChartColumns>
          {charts.map((spec) => (
            <div key={spec.lines[0]?.name}>{draw(spec, { onEnlarge: () => setEnlarged(spec.title) })}</div>
          ))}
        </ChartColumns>
      )}
      <FullScreen charts={charts} title={enlarged} onTitle={setEnlarged} drawLarge={drawLarge} />
    </details>
  );
}
