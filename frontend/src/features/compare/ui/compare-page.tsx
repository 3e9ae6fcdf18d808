import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { Suspense, useDeferredValue, useMemo, useRef, useState } from "react";
import { Link } from "react-router";
import { lineSample } from "@/charts/palette";
import { Button } from "@/components/button";
import { loadable, usePreloaded } from "@/components/loadable";
import { ErrorNotice, Notice } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Segmented } from "@/components/segmented";
import { Skeleton, StatusBadge } from "@/components/status";
import { NameValues } from "@/components/text";
import { useComparison } from "@/features/compare/model/differences";
import { FrontierSection } from "@/features/compare/ui/frontier";
import { DifferenceTable, FigureTable } from "@/features/compare/ui/tables";
import { WinRateMatrix } from "@/features/compare/ui/win-rate-matrix";
import { jobQuery } from "@/features/jobs/api";
import { paths, useAddress } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { jobName, type ShortName, shortNames } from "@/lib/names";
import { asStage, type Stage, STAGES, stageShort } from "@/lib/states";
import styles from "./compare.module.css";

const AddRun = loadable(async () => (await import("@/features/compare/ui/add-run")).AddRun);
const CompareCharts = loadable(async () => (await import("@/features/compare/ui/compare-charts")).CompareCharts);

/** Runs beside each other. The address names them, the stage, and the field that groups them. */
export function ComparePage() {
  const [params, setParams] = useAddress();
  const ids = [...new Set((params.get("runs") ?? "").split(",").filter(Boolean))];
  const { found, failed, isLoading } = useQueries({ queries: ids.map((id) => jobQuery(id)), combine });
  const set = (name: string, value: string | null) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (value) after.set(name, value);
      else after.delete(name);
      return after;
    });
  const jobs = useMemo(() => found.filter((job) => job !== undefined), [found]);
  const names = shortNames(ids.map((id, index) => found[index] ?? { id, name: id }));
  const comparison = useComparison(jobs, params.get("by"));
  // The head is shown before the sections are rendered, so that a phone can paint and react between the two.
  const isLoaded = jobs.length > 0 && jobs.length === ids.length;
  const isReady = useDeferredValue(isLoaded, false) && isLoaded;
  /** Whether the first runs have their names. Until then the row is invisible, because names change the widths in it. */
  const chips = useRef<HTMLDivElement>(null);
  const [adding, setAdding] = useState(false);
  const [named, setNamed] = useState(false);
  if (!named && !isLoading) setNamed(true);
  return (
    <>
      <PageHeader title="Compare runs" parent={{ to: paths.jobs, label: "Jobs" }} />
      <div
        ref={chips}
        role="group"
        aria-label="Runs"
        tabIndex={-1}
        className={`${styles.runs} fading`}
        style={named ? undefined : { visibility: "hidden" }}
        data-wide
      >
        {ids.map((id, index) => (
          <RunChip
            key={id}
            id={id}
            job={found[index]}
            short={names[index]}
            colour={isLoading ? index : comparison.lookOf(id).colour}
            onRemove={() => {
              chips.current?.focus(); // The button is about to go.
              set("runs", ids.filter((one) => one !== id).join(","));
            }}
          />
        ))}
      </div>
      <div className={styles.add}>
        {adding ? (
          <Suspense fallback={<Button disabled>Add a run</Button>}>
            <AddRun taken={ids} onAdd={(id) => set("runs", [...ids, id].join(","))} />
          </Suspense>
        ) : (
          <Button onClick={() => setAdding(true)}>Add a run</Button>
        )}
      </div>
      {failed?.error && <ErrorNotice error={failed.error} doing="load a run" onRetry={() => void failed.refetch()} />}
      {ids.length === 0 && <NoRuns />}
      {ids.length > 0 && !isReady && !failed && <Skeleton rows={6} height="2rem" label="Loading the runs" />}
      {isReady && <Comparison {...comparison} jobs={jobs} stage={asStage(params.get("stage"))} set={set} />}
    </>
  );
}

const combine = (queries: readonly UseQueryResult<Job>[]) => ({
  /** In the order of the ids. */
  found: queries.map(({ data }) => data),
  failed: queries.find(({ isError }) => isError),
  isLoading: queries.some(({ isPending }) => isPending),
});

function NoRuns() {
  return (
    <Notice title="No runs chosen">
      <p>
        Mark runs in the <Link to={paths.jobs}>list of jobs</Link> and choose Compare, or add runs above by name.
      </p>
    </Notice>
  );
}

interface RunChipProps {
  id: string;
  job: Job | undefined;
  short: ShortName | undefined;
  colour: number;
  onRemove: () => void;
}

function RunChip({ id, job, short, colour, onRemove }: RunChipProps) {
  const name = job ? jobName(job) : id;
  return (
    <span className={styles.chip}>
      <i style={{ background: lineSample(colour) }} aria-hidden />
      <Link to={paths.job(id)} title={name}>
        {short?.name}
        {short && <NameValues values={short.values} />}
      </Link>
      {job && job.status !== "succeeded" && <StatusBadge status={job.status} />}
      <button type="button" onClick={onRemove} aria-label={`Remove ${name}`} title="Remove from the comparison">
        ×
      </button>
    </span>
  );
}

interface ComparisonProps extends ReturnType<typeof useComparison> {
  jobs: readonly Job[];
  stage: Stage | undefined;
  set: (name: string, value: string | null) => void;
}

function Comparison({ jobs, stage, found, by, groups, lookOf, set }: ComparisonProps) {
  const stages = STAGES.filter((one) => one !== "evaluation" && jobs.some(({ spec }) => spec.stages.includes(one)));
  const shown = stage && stages.includes(stage) ? stage : (stages.at(-1) ?? "ppo");
  // The figures come first, but the charts should be there with the curves. Deferred, they are rendered in small steps.
  const hasCharts = useDeferredValue(usePreloaded(CompareCharts), false);
  return (
    <div className={styles.sections}>
      <section aria-label="Final figures">
        <h2>Final figures</h2>
        <FigureTable jobs={jobs} lookOf={lookOf} />
      </section>
      <section aria-label="Curves">
        <div className={styles.curves}>
          <h2>Curves</h2>
          {stages.length > 1 && (
            <Segmented
              label="Stage"
              options={stages.map((one) => ({ id: one, label: stageShort(one) }))}
              value={shown}
              onChange={(one) => set("stage", one)}
            />
          )}
          <label>
            Group by
            <select value={by ?? ""} onChange={(event) => set("by", event.target.value)}>
              <option value="">no field: one line per run</option>
              {found.map(({ path }) => (
                <option key={path}>{path}</option>
              ))}
            </select>
          </label>
        </div>
        {by && (
          <p className={styles.note}>A line is the mean of the runs of a group, its band one standard deviation.</p>
        )}
        <Suspense fallback={LOADING_CURVES}>
          {hasCharts ? (
            <CompareCharts key={shown} groups={groups} stage={shown} loading={LOADING_CURVES} />
          ) : (
            LOADING_CURVES
          )}
        </Suspense>
      </section>
      <FrontierSection groups={groups} stage={shown} />
      <WinRateMatrix jobs={jobs} lookOf={lookOf} />
      <section aria-label="Differences of the specs">
        <h2>Differences of the specs</h2>
        {found.length ? (
          <DifferenceTable found={found} jobs={jobs} lookOf={lookOf} />
        ) : (
          <p className={styles.note}>{jobs.length > 1 ? "The specs are the same." : "Add a second run."}</p>
        )}
      </section>
    </div>
  );
}

/** It fills the screen. The sections below it then do not move on the screen when the charts come. */
const LOADING_CURVES = <Skeleton rows={4} height="25vh" label="Loading the curves" />;
