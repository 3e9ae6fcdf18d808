import { useMemo, useState } from "react";
import { Charts, spanOf } from "@/charts/charts";
import type { Series } from "@/charts/series";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { Notice } from "@/components/notice";
import { chartSpecs } from "@/features/run/model/chart-specs";
import { marksOf } from "@/features/run/model/marks";
import { useMeanings } from "@/features/run/model/meanings";
import { ChartCard } from "@/features/run/ui/chart-card";
import type { JobEvent } from "@/lib/api/types";
import { type Stage, stageShort } from "@/lib/states";
import styles from "./charts.module.css";

interface ChartsTabProps {
  jobId: string;
  stage: Stage;
  /** Series of this stage, by name. */
  live: Readonly<Record<string, Series>>;
  log: readonly JobEvent[];
  waiting: boolean;
}

/** The charts of one stage. */
export function ChartsTab({ jobId, stage, live: series, log, waiting }: ChartsTabProps) {
  const [view, change] = useChartView();
  const names = Object.keys(series).join("\n"); // by value: a new point is no new name
  const meanings = useMeanings(stage, names);
  const charts = useMemo(() => chartSpecs(meanings, names.split("\n")), [meanings, names]);
  const marks = useMemo(() => marksOf(log, stage), [log, stage]);
  const span = spanOf(Object.values(series));
  if (!Object.keys(series).length) return <NoPoints stage={stage} waiting={waiting} />;
  const card = { jobId, stage, series, meanings, steps: view.view };
  return (
    <Charts view={view} onView={change} span={span} marks={marks}>
      <ChartToolbar view={view} onChange={change} axes={["step"]} />
      <div className={styles.grid}>
        {charts.map((chart) => (
          <ChartCard key={chart.title} spec={chart} {...card} />
        ))}
      </div>
      <AllMetrics {...card} />
    </Charts>
  );
}

function NoPoints({ stage, waiting }: { stage: string; waiting: boolean }) {
  return (
    <Notice title={waiting ? `No measurements of ${stageShort(stage)} yet` : `No measurements of ${stageShort(stage)}`}>
      <p>
        {waiting
          ? "The charts appear with the first step; this page updates automatically."
          : "The job ended before this stage reported its first step."}
      </p>
    </Notice>
  );
}

type AllMetricsProps = Omit<Parameters<typeof ChartCard>[0], "spec">;

/** Every metric of the stage, each with a chart of its own. Drawn only when opened. */
function AllMetrics({ series, meanings, ...card }: AllMetricsProps) {
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
          {shown.length === 0 && <p className={styles.hint}>No metric has this name.</p>}
          <div className={styles.grid}>
            {shown.map((name) => (
              <ChartCard
                key={name}
                spec={{ title: label(name), lines: [{ name, short: "", right: false }] }}
                {...{ series, meanings, ...card }}
              />
            ))}
          </div>
        </>
      )}
    </details>
  );
}
