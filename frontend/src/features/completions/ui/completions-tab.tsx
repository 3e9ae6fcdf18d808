import { useQuery } from "@tanstack/react-query";
import { Notice } from "@/components/notice";
import { Segmented } from "@/components/segmented";
import { notesQuery } from "@/features/completions/api/notes";
import { type OfStage, samplesQuery } from "@/features/completions/api/samples";
import { VIEWS, VIEWS_OF_EVALUATION } from "@/features/completions/model/place";
import { NotesView } from "@/features/completions/ui/notes-view";
import { PromptView } from "@/features/completions/ui/prompt-view";
import { SearchView } from "@/features/completions/ui/search-view";
import { SideBySide, type Sides } from "@/features/completions/ui/side-by-side";
import { StepView } from "@/features/completions/ui/step-view";
import { usePlace } from "@/features/completions/ui/use-place";
import type { Sample } from "@/lib/api/types";
import { type Stage, stageShort } from "@/lib/states";
import { Pending } from "@/features/completions/ui/completion-list";
import styles from "./completions.module.css";

export interface CompletionsTabProps extends OfStage {
  /** The steps that have completions, ascending. */
  steps: readonly number[];
  /** The steps with an evaluation: they have token tables and completions of held-out prompts. */
  evaluated: readonly number[];
  /** The completions of a step that arrived live; undefined for a step that has to be fetched. */
  live: (step: number) => readonly Sample[] | undefined;
  /** Whether more may come. */
  waiting: boolean;
  /** Names of the two policies that the evaluation compares. */
  sides: Sides;
  /** Whether the job has a judge. */
  judged: boolean;
}

export function CompletionsTab(props: CompletionsTabProps) {
  const { jobId, stage, steps } = props;
  const { place, choose } = usePlace();
  const { data: notes } = useQuery(notesQuery(jobId));
  if (!steps.length) return <NoCompletions stage={stage} waiting={props.waiting} />;
  const views = stage === "evaluation" ? VIEWS_OF_EVALUATION : VIEWS;
  const view = views.find(({ id }) => id === place.view)?.id ?? "step";
  const options = views.map(({ id, label }) => ({
    id,
    label: id === "notes" && notes?.length ? `${label} (${notes.length})` : label,
  }));
  return (
    <>
      <div className={styles.views}>
        <Segmented label="Completions of" options={options} value={view} onChange={(to) => choose({ view: to })} />
      </div>
      {view === "step" && (stage === "evaluation" ? <Evaluation {...props} /> : <StepView {...props} />)}
      {view === "all" && <SearchView {...props} />}
      {view === "prompt" && <PromptView {...props} />}
      {view === "notes" && <NotesView jobId={jobId} />}
    </>
  );
}

function Evaluation({ jobId, seed, stage, steps, live, sides, judged }: CompletionsTabProps) {
  const step = steps.at(-1) ?? 0;
  const arrived = live(step);
  const query = useQuery({ ...samplesQuery({ jobId, seed, stage }, step), enabled: arrived === undefined });
  const rows = arrived ?? query.data;
  if (!rows) return <Pending query={query} />;
  return <SideBySide {...{ jobId, seed, step, rows, sides, judged }} />;
}

function NoCompletions({ stage, waiting }: { stage: Stage; waiting: boolean }) {
  const samples = stage === "ppo" || stage === "evaluation";
  return (
    <Notice title={samples && waiting ? "No completions yet" : `${stageShort(stage)} has no completions`}>
      <p>
        {samples
          ? waiting
            ? "They appear with the first step that logs some."
            : "The job ended before any were logged."
          : "This stage learns from given texts and writes none. PPO and the evaluation do."}
      </p>
    </Notice>
  );
}
