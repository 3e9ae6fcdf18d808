import { useCallback, useMemo, useState } from "react";
import { Charts, spanOf } from "@/charts/charts";
import type { Series } from "@/charts/series";
import { useChartView } from "@/charts/settings";
import { ChartToolbar } from "@/charts/toolbar";
import { Notice } from "@/components/notice";
import { alongOf, axesOf, positionsOn, stepsOf } from "@/features/run/model/axes";
import { chartSpecs } from "@/features/run/model/chart-specs";
import { useLayout } from "@/features/run/model/layout";
import { evaluatedSteps, marksOf } from "@/features/run/model/marks";
import { useMeanings } from "@/features/run/model/meanings";
import { ownSpecs } from "@/features/run/model/own-charts";
import { ChartCard, type ChartData } from "@/features/run/ui/chart-card";
import { AddChart } from "@/features/run/ui/chart-editor";
import { ChartGrid } from "@/features/run/ui/chart-grid";
import { FullScreen } from "@/features/run/ui/full-screen";
import { useAddress } from "@/lib/address";
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
  /** Whether steps of this stage have completions. */
  hasSamples: boolean;
}

/** The charts of one stage. */
export function ChartsTab({ jobId, stage, live: series, log, waiting, hasSamples }: ChartsTabProps) {
  const [view, change] = useChartView();
  const [params, setParams] = useAddress();
  const names = Object.keys(series).join("\n"); // by value: a new point is no new name
  const meanings = useMeanings(stage, names);
  const { own } = useLayout(stage);
  const charts = useMemo(() => {
    const usual = chartSpecs(meanings, names.split("\n"));
    const titles = usual.map(({ title }) => title);
    return [...ownSpecs(own, meanings, titles), ...usual];
  }, [own, meanings, names]);
  const evaluated = evaluatedSteps(series).join("\n"); // by value, too
  const marks = useMemo(
    () => marksOf(log, stage, evaluated.split("\n").filter(Boolean).map(Number)),
    [log, stage, evaluated],
  );
  const positions = useMemo(() => positionsOn(view.axis, series, log, stage), [view.axis, series, log, stage]);
  const along = useMemo(() => alongOf(positions), [positions]);
  const openCompletions = useCallback(
    (at: number) => {
      const step = stepsOf({ from: at, to: at }, positions)?.from ?? at;
      const change = (before: URLSearchParams) => {
        before.set("stage", stage);
        before.set("tab", "completions");
        before.set("step", String(Math.round(step)));
        return before;
      };
      setParams(change, true);
    },
    [positions, stage, setParams],
  );
  if (!Object.keys(series).length) return <NoPoints stage={stage} waiting={waiting} />;
  const found = params.get("find") ?? "";
  const find = found.trim().toLowerCase();
  const search = (text: string) =>
    setParams((before) => {
      if (text) before.set("find", text);
      else before.delete("find");
      return before;
    });
  const card = { jobId, stage, series, meanings, steps: stepsOf(view.view, positions) };
  const point = hasSamples ? { onPoint: openCompletions, pointHint: "show the completions of the step" } : {};
  return (
    <Charts
      view={view}
      onView={change}
      span={spanOf(Object.values(series), along)}
      along={along}
      marks={marks}
      {...point}
    >
      <ChartToolbar view={view} onChange={change} axes={axesOf(series)}>
        <input
          type="search"
          className={styles.find}
          placeholder="Find a metric"
          aria-label="Find a metric"
          value={found}
          onChange={(event) => search(event.target.value)}
        />
        <AddChart stage={stage} charts={charts} names={names.split("\n")} meanings={meanings} />
      </ChartToolbar>
      <ChartGrid charts={charts} find={find} {...card} />
      <AllMetrics find={find} {...card} />
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

interface AllMetricsProps extends Omit<ChartData, "spec"> {
  find: string;
}

/** Every metric of the stage, each with a chart of its own. Drawn only when opened or searched. */
function AllMetrics({ find, ...card }: AllMetricsProps) {
  const [open, setOpen] = useState(false);
  const [enlarged, setEnlarged] = useState<string | null>(null);
  const names = Object.keys(card.series).sort();
  const label = (name: string) => card.meanings.get(name)?.label ?? name;
  const shown = names.filter((name) => `${name} ${label(name)}`.toLowerCase().includes(find));
  const charts = shown.map((name) => ({ title: label(name), lines: [{ name, short: "", right: false }] }));
  const count = find ? `${shown.length} of ${names.length}` : names.length;
  return (
    <details
      className={styles.all}
      open={open || find !== ""}
      onToggle={(event) => !find && setOpen(event.currentTarget.open)}
    >
      <summary>All metrics ({count})</summary>
      {find !== "" && shown.length === 0 && <p className={styles.hint}>No metric has “{find}” in its name.</p>}
      {(open || find !== "") && (
        <div className={styles.grid}>
          {charts.map((spec) => (
            <ChartCard key={spec.lines[0]?.name} spec={spec} onEnlarge={() => setEnlarged(spec.title)} {...card} />
          ))}
        </div>
      )}
      <FullScreen {...card} charts={charts} title={enlarged} onTitle={setEnlarged} />
    </details>
  );
}
