import { useId, useMemo, useState } from "react";
import { Cursor } from "@/charts/cursor";
import { ChartGroupContext, type StepRange } from "@/charts/group";
import type { Series } from "@/charts/series";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { chartsOf } from "@/features/run/model/catalog";
import { AllMetrics } from "@/features/run/ui/charts/all-metrics";
import { ChartCard } from "@/features/run/ui/charts/chart-card";
import { useDetail } from "@/features/run/ui/charts/use-detail";
import { useMeanings } from "@/features/run/ui/charts/use-meanings";
import { type Stage, stageShort } from "@/lib/stages";
import { readNumber, writeNumber } from "@/lib/stored";
import styles from "./charts.module.css";

const SMOOTHING = "proximal-smoothing";

interface Props {
  jobId: string;
  stage: Stage;
  /** Of this stage, by name. */
  live: Readonly<Record<string, Series>>;
  waiting: boolean;
}

/** The charts of one stage: one crosshair, one zoom, one smoothing for all of them. */
export function ChartsTab({ jobId, stage, live, waiting }: Props) {
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
  const charts = useMemo(() => chartsOf(stage, names.split("\n")), [stage, names]);
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
            Steps {Math.round(zoom.from)}–{Math.round(zoom.to)}: show all
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
    <Notice
      title={waiting ? `Nothing measured in ${stageShort(stage)} yet` : `No measurements of ${stageShort(stage)}`}
    >
      <p>
        {waiting
          ? "The charts appear with the first step; this page updates by itself."
          : "The job ended before this stage reported its first step."}
      </p>
    </Notice>
  );
}
