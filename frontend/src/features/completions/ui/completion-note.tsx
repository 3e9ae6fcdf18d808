import { useQueryClient } from "@tanstack/react-query";
import { Suspense } from "react";
import { Button } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { loadable } from "@/components/loadable";
import { LongText } from "@/components/long-text";
import { Skeleton } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { deleteNote, notesQuery } from "@/features/completions/api/notes";
import type { Row } from "@/features/completions/model/rows";
import type { Noting } from "@/features/completions/ui/use-note";
import type { SampleNote } from "@/lib/api/types";
import { useReadOnly } from "@/lib/read-only";
import styles from "./note.module.css";

const NoteEditor = loadable(async () => (await import("@/features/completions/ui/note-editor")).NoteEditor);

/** Characters of a note that are shown before it is unfolded. */
const LONG = 600;

export const nameOf = ({ step, index }: Row): string => `completion ${index + 1} of step ${step}`;

/** The button that begins a note. A completion with a note has none. */
export function AddNote({ noting: { note, isLoaded, draft, begin, hasEnded, row } }: { noting: Noting }) {
  const readOnly = useReadOnly();
  if (note || draft || !isLoaded || readOnly) return null;
  return (
    <Button look="quiet" onClick={begin} autoFocus={hasEnded} aria-label={`Add a note to ${nameOf(row)}`}>
      Add a note
    </Button>
  );
}

/** The note on a completion, or the form in which it is written. Nothing without a note. */
export function NoteOf({ noting }: { noting: Noting }) {
  const { note, draft } = noting;
  if (draft) {
    return (
      <Suspense fallback={<Skeleton rows={1} height="6rem" />}>
        <NoteEditor noting={noting} draft={draft} />
      </Suspense>
    );
  }
  return note && <WrittenNote noting={noting} note={note} />;
}

function WrittenNote({ noting, note }: { noting: Noting; note: SampleNote }) {
  const { jobId, row, begin, hasEnded } = noting;
  const client = useQueryClient();
  const readOnly = useReadOnly();
  const remove = async () => {
    await deleteNote(jobId, note.id);
    noting.end();
    const { queryKey } = notesQuery(jobId);
    client.setQueryData(queryKey, (notes) => notes?.filter(({ id }) => id !== note.id));
  };
  return (
    <section className={styles.note} aria-label={`Note on ${nameOf(row)}`}>
      <div className={styles.text}>
        <LongText text={note.text} limit={LONG} />
      </div>
      {note.replaced && (
        <p className={styles.replaced}>The step ran again. This is the completion that the note was written on.</p>
      )}
      <div className={styles.foot}>
        <p>
          Note{note.author && ` by ${note.author}`}, <TimeAgo time={note.updated_at} />
        </p>
        {!note.replaced && !readOnly && (
          <Button look="quiet" onClick={begin} autoFocus={hasEnded} aria-label={`Edit the note on ${nameOf(row)}`}>
            Edit
          </Button>
        )}
        {!readOnly && (
          <ConfirmButton
            button="Delete"
            label={`Delete the note on ${nameOf(row)}`}
            title="Delete this note?"
            confirm="Delete the note"
            keep="Keep it"
            action={remove}
            done="The note was deleted."
          >
            <p>{note.text.length > 200 ? `${note.text.slice(0, 200)}…` : note.text}</p>
            <p>The completion stays. This cannot be undone.</p>
          </ConfirmButton>
        )}
      </div>
    </section>
  );
}
