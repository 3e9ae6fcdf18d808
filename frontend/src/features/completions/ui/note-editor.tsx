import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { notesQuery, writeNote } from "@/features/completions/api/notes";
import { authorName, noteText, withNote } from "@/features/completions/model/notes";
import { nameOf } from "@/features/completions/ui/completion-note";
import type { Draft, Noting } from "@/features/completions/ui/use-note";
import { LONGEST } from "@/lib/api/fields.gen";
import { readText, writeText } from "@/lib/stored";
import styles from "./note.module.css";

/** The name that the annotation of rounds keeps in this browser, too. */
const NAME = "proximal-annotator";

/** The form in which a note is written. It keeps what is typed in `draft`. */
export function NoteEditor({ noting, draft }: { noting: Noting; draft: Draft }) {
  const { note, row, jobId, keep, end } = noting;
  const [text, setText] = useState(draft.text ?? note?.text ?? "");
  const [author, setAuthor] = useState(note?.author ?? readText(NAME) ?? "");
  const client = useQueryClient();
  const given = noteText(text);
  const save = useMutation({
    mutationFn: () => writeNote(noting, given, authorName(author)),
    onSuccess: (written) => {
      const name = authorName(author);
      if (name) writeText(NAME, name);
      client.setQueryData(notesQuery(jobId).queryKey, (notes) => notes && withNote(notes, written));
      end();
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (given && !save.isPending) save.mutate();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return (
    <form className={styles.editor} onSubmit={submit} onKeyDown={onKeyDown}>
      <label>
        <span>Note on {nameOf(row)}</span>
        <textarea
          rows={4}
          maxLength={LONGEST.sampleNote}
          value={text}
          onChange={(event) => {
            keep({ ...draft, text: event.target.value });
            setText(event.target.value);
          }}
          autoFocus
        />
      </label>
      {save.error && <p role="alert">{save.error.message}</p>}
      <div className={styles.foot}>
        <label>
          <span>Your name, if you like</span>
          <input
            type="text"
            maxLength={LONGEST.sampleNoteAuthor}
            value={author}
            onChange={(event) => setAuthor(event.target.value)}
          />
        </label>
        <Button type="submit" look="primary" busy={save.isPending} disabled={!given}>
          {save.isPending ? "Saving…" : "Save the note"}
        </Button>
        <Button onClick={end}>Discard</Button>
        <Note>Plain text. Ctrl and Enter save.</Note>
      </div>
    </form>
  );
}
