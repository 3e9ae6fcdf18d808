import { useQuery } from "@tanstack/react-query";
import { useId, useMemo, useState } from "react";
import { ChartGroupContext, Cursor, type StepRange } from "@/charts/group";
import type { Series } from "@/charts/series";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { metricsBetween } from "@/features/run/api";
import { chartSpecs } from "@/features/run/model/chart-specs";
import { type Meaning, useMeanings } from "@/features/run/model/meanings";
import { byStage } from "@/features/run/model/state";
import { ChartCard } from "@/features/run/ui/chart-card";
import { type Stage, stageShort } from "@/lib/states";
import { readNumber, writeNumber } from "@/lib/stored";
import styles from "./charts.module.css";

const SMOOTHING = "proximal-smoothing";

interface ChartsTabProps {
  jobId: string;
  stage: Stage;
  /** Series of this stage, by name. */
  live: Readonly<Record<string, Series>>;
  waiting: boolean;
}

/** The charts of one stage: one crosshair, one zoom, one smoothing for all of them. */
export function ChartsTab({ jobId, stage, live, waiting }: ChartsTabProps) {
  const syncKey = useId();
  const [cursor] = useState(() => new Cursor());
  const [zoom, setZoom] = useState<StepRange | null>(null);
  const [smoothing, setSmoothing] = useState(() => readNumber(SMOOTHING, 0));
  const smoothBy = (weight: number) => {
    setSmoothing(weight);
    writeNumber(SMOOTHING, weight);
  };
  const series = useDetail(jobId, stage, live, zoom);
  const names = Object.keys(series).join("\n"); // by value: a new point is no new name
  const meanings = useMeanings(stage, names);
  const group = useMemo(() => ({ syncKey, cursor, zoom, setZoom, smoothing }), [syncKey, cursor, zoom, smoothing]);
  const charts = useMemo(() => chartSpecs(meanings, names.split("\n")), [meanings, names]);
  if (!Object.keys(series).length) return <NoPoints stage={stage} waiting={waiting} />;
  return (
    <ChartGroupContext value={group}>
      <div className={styles.toolbar}>
        <label>
          Smoothing
          <input
            type="range"
            min={0}
            max={0.98}
            step={0.02}
            value={smoothing}
            onChange={(event) => smoothBy(event.target.valueAsNumber)}
          />
          <output>{smoothing === 0 ? "off" : smoothing.toFixed(2)}</output>
        </label>
        {zoom ? (
          <Button onClick={() => setZoom(null)}>
            Steps {Math.round(zoom.from)} to {Math.round(zoom.to)}: show all
          </Button>
        ) : (
          <span className={styles.hint}>Drag over a chart to zoom all of them; double-click to reset.</span>
        )}
      </div>
      <div className={styles.grid}>
        {charts.map((chart) => (
          <ChartCard key={chart.title} spec={chart} series={series} meanings={meanings} />
        ))}
      </div>
      <AllMetrics series={series} meanings={meanings} />
    </ChartGroupContext>
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

interface AllMetricsProps {
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
}

/** Every metric of the stage, each with a chart of its own. Drawn only when opened. */
function AllMetrics({ series, meanings }: AllMetricsProps) {
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
                spec={{ title: label(name), lines: [{ name, short: "", right: false }] }}
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

type ByName = Readonly<Record<string, Series>>;

/** In a long run points come in buckets; a zoom into it fetches the finer ones, or the points themselves. */
function useDetail(jobId: string, stage: Stage, series: ByName, zoom: StepRange | null): ByName {
  const isBucketed = Object.values(series).some((one) => one.min !== null);
  const from = Math.max(0, Math.floor(zoom?.from ?? 0));
  const to = Math.max(from, Math.ceil(zoom?.to ?? 0));
  const detail = useQuery({ ...metricsBetween(jobId, stage, from, to), enabled: zoom !== null && isBucketed });
  return useMemo(() => {
    if (!zoom || !isBucketed || !detail.data) return series;
    return { ...series, ...byStage(detail.data.series)[stage] };
  }, [series, stage, zoom, isBucketed, detail.data]);
}
