import { Suspense, useDeferredValue, useRef, useState } from "react";
import { Link } from "react-router";
import { lineSample } from "@/charts/palette";
import { Button } from "@/components/button";
import { CopyReadOnlyLink } from "@/components/copy-read-only-link";
import { ErrorNotice, Notice } from "@/components/notice";
import { loadable } from "@/components/loadable";
import { PageHeader } from "@/components/page-header";
import { Skeleton, StatusBadge } from "@/components/status";
import { Tabs } from "@/components/tabs";
import { NameValues } from "@/components/text";
import { useComparison } from "@/features/compare/model/differences";
import { useComparedRuns } from "@/features/compare/api";
import { Comparison } from "@/features/compare/ui/comparison";
import { comparedRuns, paths, useAddress } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { count } from "@/lib/format";
import { jobName, type ShortName, shortNames } from "@/lib/names";
import { asStage } from "@/lib/states";
import styles from "./compare.module.css";

const AddRun = loadable(async () => (await import("@/features/compare/ui/add-run")).AddRun);

const ComparedCompletions = loadable(
  async () => (await import("@/features/compare/ui/compared-completions")).ComparedCompletions,
);

const TABS = [
  { id: "results", label: "Results" },
  { id: "completions", label: "Completions" },
] as const;
type Tab = (typeof TABS)[number]["id"];

/** The address of a tab. The choices of the completions end with their tab. */
function addressOf(params: URLSearchParams, tab: Tab): URLSearchParams {
  const after = new URLSearchParams(params);
  for (const name of ["tab", "step", "shared"]) after.delete(name);
  if (tab !== "results") after.set("tab", tab);
  return after;
}

/** Runs beside each other. The address names them, the stage, and the field that groups them. */
export function ComparePage() {
  const [params, setParams] = useAddress();
  const ids = comparedRuns(params);
  const tab: Tab = params.get("tab") === "completions" ? "completions" : "results";
  const stage = asStage(params.get("stage"));
  const { jobs, missing, error, isPending, retry } = useComparedRuns(ids);
  const set = (name: string, value: string | null) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (value) after.set(name, value);
      else after.delete(name);
      return after;
    });
  const found = ids.map((id) => jobs.find((job) => job.id === id));
  const names = shortNames(ids.map((id, index) => found[index] ?? { id, name: id }));
  const comparison = useComparison(jobs, params.get("by"));
  // The head is shown before the sections are rendered, so that a phone can paint and react between the two.
  const isLoaded = jobs.length > 0;
  const isReady = useDeferredValue(isLoaded, false) && isLoaded;
  /** Whether the first runs have their names. Until then the row is invisible, because names change the widths in it. */
  const chips = useRef<HTMLDivElement>(null);
  const [adding, setAdding] = useState(false);
  const [named, setNamed] = useState(false);
  if (!named && !isPending) setNamed(true);
  return (
    <>
      <PageHeader
        title="Compare runs"
        parent={{ to: paths.jobs, label: "Jobs" }}
        actions={ids.length > 0 && <CopyReadOnlyLink />}
      />
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
            colour={found[index] ? comparison.lookOf(id).colour : index}
            onRemove={() => {
              chips.current?.focus(); // The button is about to go.
              set("runs", ids.filter((one) => one !== id).join(","));
            }}
          />
        ))}
      </div>
      <div className={styles.choices}>
        <div className={styles.add}>
          {adding ? (
            <Suspense fallback={<Button disabled>Add a run</Button>}>
              <AddRun taken={ids} onAdd={(id) => set("runs", [...ids, id].join(","))} />
            </Suspense>
          ) : (
            <Button onClick={() => setAdding(true)}>Add a run</Button>
          )}
        </div>
        {isReady && tab === "results" && comparison.found.length > 0 && (
          <label>
            Group by
            <select value={comparison.by ?? ""} onChange={(event) => set("by", event.target.value)}>
              <option value="">no field: each run alone</option>
              {comparison.found.map(({ path }) => (
                <option key={path}>{path}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {error && <ErrorNotice error={error} doing="load the runs" onRetry={retry} />}
      {missing.length > 0 && (
        <MissingRuns ids={missing} onRemove={() => set("runs", ids.filter((id) => !missing.includes(id)).join(","))} />
      )}
      {ids.length === 0 && <NoRuns />}
      {ids.length > missing.length && !isReady && !error && (
        <Skeleton rows={6} height="2rem" label="Loading the runs" />
      )}
      {isReady && (
        <Tabs tabs={TABS} value={tab} addressOf={(to) => addressOf(params, to)} label="Views of the comparison">
          {tab === "completions" ? (
            <Suspense fallback={<Skeleton rows={6} height="3rem" />}>
              <ComparedCompletions
                jobs={jobs}
                lookOf={comparison.lookOf}
                stage={stage}
                onStage={(to) =>
                  setParams((before) => {
                    before.delete("step");
                    before.set("stage", to);
                    return before;
                  })
                }
              />
            </Suspense>
          ) : (
            <Comparison {...comparison} jobs={jobs} stage={stage} set={set} />
          )}
        </Tabs>
      )}
    </>
  );
}

function NoRuns() {
  return (
    <Notice title="No runs chosen">
      <p>
        Mark runs in the <Link to={paths.jobs}>list of jobs</Link> and choose Compare, or add runs above by name.
      </p>
    </Notice>
  );
}

function MissingRuns({ ids, onRemove }: { ids: readonly string[]; onRemove: () => void }) {
  return (
    <div className={styles.missing}>
      <Notice tone="bad" title={`${count(ids.length, "run")} not found`}>
        <p>{ids.join(", ")}</p>
        <Button onClick={onRemove}>Remove from the comparison</Button>
      </Notice>
    </div>
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
