import { useQuery } from "@tanstack/react-query";
import { Notice } from "@/components/notice";
import { notesQuery } from "@/features/completions/api/notes";
import { withPlace } from "@/features/completions/model/place";
import { type Row, rowKey } from "@/features/completions/model/rows";
import { CompletionCard } from "@/features/completions/ui/completion-card";
import { CompletionList, Pending } from "@/features/completions/ui/completion-list";
import { type Chooser, usePlace } from "@/features/completions/ui/use-place";
import type { SampleNote } from "@/lib/api/types";
import { useAddress } from "@/lib/address";
import { count } from "@/lib/format";
import { asStage, stageShort } from "@/lib/states";
import styles from "./completions.module.css";

interface NotedRow extends Row {
  readonly note: SampleNote;
}

/** All completions of the job with notes: those of every stage, step and seed. The newest note comes first. */
export function NotesView({ jobId }: { jobId: string }) {
  const query = useQuery(notesQuery(jobId));
  const chooser = usePlace();
  const [params] = useAddress();
  if (!query.data) return <Pending query={query} />;
  if (!query.data.length) {
    return (
      <Notice title="No completion of this job has a note">
        <p>“Add a note” on a completion writes one.</p>
      </Notice>
    );
  }
  const rows = query.data.map((note): NotedRow => {
    const { stage, step, index } = note.completion;
    return { id: note.id, note, sample: note.completion, stage, step, index };
  });
  const stages = new Set(rows.map((row) => row.stage));
  return (
    <>
      <p className={styles.tally} role="status">
        {count(rows.length, "completion")} with a note
        {stages.size > 1 && `, in ${stages.size} stages`}
      </p>
      <CompletionList
        rows={rows}
        keyOf={rowKey}
        render={({ note, ...row }) => (
          <CompletionCard
            jobId={jobId}
            seed={note.completion.seed}
            row={row}
            tables={[]}
            chooser={chooserOf(note, chooser, params)}
            acrossSteps
            whichStep={stepOf(note)}
            isReplaced={note.replaced}
          />
        )}
      />
    </>
  );
}

/** Such as "PPO, step 120, seed 5". */
function stepOf({ completion: { stage, step, seed } }: SampleNote): string {
  const known = asStage(stage);
  return `${known ? stageShort(known) : stage}, step ${step}${seed === null ? "" : `, seed ${seed}`}`;
}

/** The chooser with links to the stage and the seed of the note, which may be other ones than those of the page. */
function chooserOf({ completion }: SampleNote, chooser: Chooser, params: URLSearchParams): Chooser {
  const { stage, seed } = completion;
  return {
    ...chooser,
    place: { ...chooser.place, rival: "none" },
    linkTo: (change) => {
      const after = withPlace(params, change);
      after.set("tab", "completions");
      after.set("stage", stage);
      if (seed !== null) after.set("seed", String(seed));
      return `?${after.toString()}`;
    },
  };
}
