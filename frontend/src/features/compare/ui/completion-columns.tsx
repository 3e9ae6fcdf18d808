import { LongText } from "@/components/long-text";
import { ErrorNotice } from "@/components/notice";
import { sharedText } from "@/features/compare/model/completions";
import type { Look } from "@/features/compare/model/differences";
import type { Column, ShownStep } from "@/features/compare/model/use-completions";
import { RunName } from "@/features/compare/ui/tables";
import { Answer, Answers, CompletionList, Figures, LONG } from "@/features/completions/ui";
import { paths, useParameter } from "@/lib/address";
import type { Job, Sample } from "@/lib/api/types";
import { jobName } from "@/lib/names";
import type { Stage } from "@/lib/states";
import { trimmedStart } from "@/lib/visible";
import styles from "./compared-completions.module.css";

/** The runs whose completions could not be loaded, such as one that was deleted meanwhile. */
export const Failures = ({ of }: { of: readonly Pick<Column, "job" | "failure">[] }) =>
  of.map(
    ({ job, failure }) =>
      failure && (
        <div key={job.id} className={styles.line}>
          <ErrorNotice
            error={failure.error}
            doing={`load the completions of ${jobName(job)}`}
            onRetry={failure.retry}
          />
        </div>
      ),
  );

interface CompletionColumnsProps {
  shown: ShownStep;
  /** Whether the completions of the chosen step are still being loaded. */
  isOld: boolean;
  stage: Stage;
  lookOf: (id: string) => Look;
}

/** The prompts of a step, each with the completions of the runs beside each other. */
export function CompletionColumns({ shown: { chosen, columns, rows }, isOld, stage, lookOf }: CompletionColumnsProps) {
  const [shared, setShared] = useParameter("shared");
  const sampled = columns.filter(({ samples }) => samples.length).length;
  const hasShared = rows.some((row) => row.runs > 1);
  const listed = shared === "1" ? rows.filter((row) => row.runs > 1) : rows;
  return (
    <div aria-busy={isOld} className={styles.rows}>
      <div className={styles.tally}>
        <p role="status">
          {sharedText(rows, sampled)}
          {listed.length < rows.length && ` ${listed.length} shown.`}
        </p>
        {(hasShared || shared === "1") && sampled > 1 && (
          <label className={styles.check}>
            <input
              type="checkbox"
              checked={shared === "1"}
              onChange={(event) => setShared(event.target.checked ? "1" : null)}
            />
            Shared prompts only
          </label>
        )}
      </div>
      <Failures of={columns} />
      {/* The focus lets the arrow keys scroll to the runs that have no room. */}
      <div className={styles.scroll} role="group" aria-label="Completions beside each other" tabIndex={0}>
        <div style={{ minWidth: `calc(${columns.length} * var(--column))` }}>
          <CompletionList
            rows={listed}
            keyOf={({ prompt }) => prompt}
            render={({ prompt, answers }) => (
              <Answers prompt={prompt} columns={columns.length}>
                {columns.map((column, index) => (
                  <Cell
                    key={column.job.id}
                    column={column}
                    samples={answers[index] ?? []}
                    chosen={chosen}
                    stage={stage}
                    look={lookOf(column.job.id)}
                  />
                ))}
              </Answers>
            )}
          />
        </div>
      </div>
    </div>
  );
}

interface CellProps {
  column: Column;
  /** Its completions of the prompt. */
  samples: readonly Sample[];
  /** The step that the user has chosen. */
  chosen: number;
  stage: Stage;
  look: Look;
}

function Cell({ column: { job, seed, step, failure }, samples, chosen, stage, look }: CellProps) {
  const who = (
    <>
      <RunName job={job} {...look} to={placeOf(job, seed, stage, step)} />
      {seed !== null && <span className={styles.at}>seed {seed}</span>}
      {step !== null && <span className={styles.at}>step {step}</span>}
      {step !== null && step !== chosen && (
        <span className={styles.earlier} title="The nearest earlier step of this run that has completions">
          none at {chosen}
        </span>
      )}
    </>
  );
  return (
    <Answer who={who}>
      {samples.map((sample, index) => (
        <div key={index} className={styles.sample}>
          <Figures sample={sample} />
          <LongText text={trimmedStart(sample.response)} limit={LONG} />
        </div>
      ))}
      {!samples.length && <p className={styles.none}>{whyNone(step, chosen, failure !== null)}</p>}
    </Answer>
  );
}

function whyNone(step: number | null, chosen: number, hasFailed: boolean): string {
  if (hasFailed) return "Its completions could not be loaded.";
  if (step === null) return `It has no completions up to step ${chosen}.`;
  return `No completion of this prompt at step ${step}.`;
}

/** The page of the run with the same completions. */
function placeOf(job: Job, seed: number | null, stage: Stage, step: number | null): string {
  const query = new URLSearchParams({ stage, tab: "completions" });
  if (seed !== null) query.set("seed", String(seed));
  if (step !== null) query.set("step", String(step));
  return `${paths.job(job.id)}?${query.toString()}`;
}
