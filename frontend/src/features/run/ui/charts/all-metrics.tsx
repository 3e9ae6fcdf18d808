import { useState } from "react";
import type { Series } from "@/charts/series";
import { ChartCard } from "@/features/run/ui/charts/chart-card";
import type { Meaning } from "@/features/run/ui/charts/use-meanings";
import styles from "./charts.module.css";

interface Props {
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
}

/** Every metric of the stage, each with a chart of its own. Drawn only when opened. */
export function AllMetrics({ series, meanings }: Props) {
  const [open, setOpen] = useState(false);
  const [filter, setFilter] = useState("");
  const names = Object.keys(series).sort();
  const label = (name: string) => meanings.get(name)?.label ?? name;
  const wanted = filter.trim().toLowerCase();
  const shown = names.filter((name) => `${name} ${label(name)}`.toLowerCase().includes(wanted));
  return (
    <details className={styles.all} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>All metrics ({names.length})</summary>
      {open && (
        <>
          <input
            type="search"
            placeholder="Filter by name, for example kl"
            aria-label="Filter the metrics"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
          {shown.length === 0 && <p className={styles.hint}>No metric is called that.</p>}
          <div className={styles.grid}>
            {shown.map((name) => (
              <ChartCard
                key={name}
                spec={{ title: label(name), lines: [{ name, short: "" }] }}
                series={series}
                meanings={meanings}
              />
            ))}
          </div>
        </>
      )}
    </details>
  );
}
