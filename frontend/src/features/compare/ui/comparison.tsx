import { type ReactNode, Suspense, useDeferredValue, useRef, useState } from "react";
import { useVisible } from "@/charts/group";
import { loadable, usePreloaded } from "@/components/loadable";
import { Segmented } from "@/components/segmented";
import { Skeleton } from "@/components/status";
import type { useComparison } from "@/features/compare/model/differences";
import { FigureTable } from "@/features/compare/ui/tables";
import type { Job } from "@/lib/api/types";
import { type Stage, STAGES, stageShort } from "@/lib/states";
import styles from "./compare.module.css";

const CompareCharts = loadable(async () => (await import("@/features/compare/ui/compare-charts")).CompareCharts);
const DifferenceTable = loadable(async () => (await import("@/features/compare/ui/difference-table")).DifferenceTable);
const GroupedFigures = loadable(async () => (await import("@/features/compare/ui/grouped-figures")).GroupedFigures);
const FrontierSection = loadable(async () => (await import("@/features/compare/ui/frontier")).FrontierSection);
const WinRateMatrix = loadable(async () => (await import("@/features/compare/ui/win-rate-matrix")).WinRateMatrix);

interface ComparisonProps extends ReturnType<typeof useComparison> {
  jobs: readonly Job[];
  stage: Stage | undefined;
  set: (name: string, value: string | null) => void;
}

/** The figures, curves and specs of the runs. */
export function Comparison({ jobs, stage, found, by, groups, lookOf, set }: ComparisonProps) {
  const stages = STAGES.filter((one) => one !== "evaluation" && jobs.some(({ spec }) => spec.stages.includes(one)));
  const shown = stage && stages.includes(stage) ? stage : (stages.at(-1) ?? "ppo");
  // The figures come first, but the charts should be there with the curves. Deferred, they are rendered in small steps.
  const hasCharts = useDeferredValue(usePreloaded(CompareCharts), false);
  return (
    <div className={styles.sections}>
      <section aria-label="Final figures">
        <h2>Final figures</h2>
        {by ? (
          <Suspense fallback={<Skeleton rows={groups.length} height="3rem" label="Loading the figures" />}>
            <GroupedFigures jobs={jobs} lookOf={lookOf} by={by} groups={groups} />
          </Suspense>
        ) : (
          <FigureTable jobs={jobs} lookOf={lookOf} />
        )}
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
        </div>
        {(by || jobs.some(({ seeds }) => seeds.length)) && (
          <p className={styles.note}>
            A line with “mean of n” is the mean over n runs or seeds, and its band the 95 % interval over them. The
            curve of the score is that of the batches of PPO; the table has the score at the final evaluation.
          </p>
        )}
        <Suspense fallback={LOADING_CURVES}>
          {hasCharts ? (
            <CompareCharts key={shown} groups={groups} stage={shown} loading={LOADING_CURVES} />
          ) : (
            LOADING_CURVES
          )}
        </Suspense>
      </section>
      {/* The evaluations and the completions of each run may be requests of their own. */}
      <NearScreen>
        <FrontierSection groups={groups} stage={shown} />
      </NearScreen>
      <NearScreen>
        <WinRateMatrix jobs={jobs} lookOf={lookOf} />
      </NearScreen>
      <section aria-label="Differences of the specs">
        <h2>Differences of the specs</h2>
        {found.length ? (
          <NearScreen>
            <DifferenceTable found={found} jobs={jobs} lookOf={lookOf} />
          </NearScreen>
        ) : (
          <p className={styles.note}>{jobs.length > 1 ? "The specs are the same." : "Add a second run."}</p>
        )}
      </section>
    </div>
  );
}

/** It fills the screen. The sections below it then do not move on the screen when the charts come. */
const LOADING_CURVES = <Skeleton rows={4} height="25vh" label="Loading the curves" />;

/** Renders its children once it comes near the screen. */
function NearScreen({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const visible = useVisible(box);
  const [near, setNear] = useState(false);
  if (visible && !near) setNear(true);
  return near ? <Suspense>{children}</Suspense> : <div ref={box} />;
}
