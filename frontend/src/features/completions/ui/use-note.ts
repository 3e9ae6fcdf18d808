import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { notesQuery, type Noted } from "@/features/completions/api/notes";
import { noteOn } from "@/features/completions/model/notes";
import { addressOf } from "@/features/completions/model/place";
import type { Row } from "@/features/completions/model/rows";
import type { SampleNote } from "@/lib/api/types";

/** A note that is being written. */
export interface Draft {
  /** Null: not typed yet. */
  readonly text: string | null;
  /** The response that was shown when the writing began. */
  readonly response: string;
}

// Kept here, because a card that is scrolled away leaves the document.
const drafts = new Map<string, Draft>();

/** The note on a completion, and whether it is being written. */
export interface Noting extends Noted {
  readonly note: SampleNote | undefined;
  /** Whether the notes of the job are known. */
  readonly isLoaded: boolean;
  readonly draft: Draft | undefined;
  readonly begin: () => void;
  /** Keeps what is typed. */
  readonly keep: (draft: Draft) => void;
  readonly end: () => void;
  /** Whether writing has ended here, so that the focus goes back to the control that began it. */
  readonly hasEnded: boolean;
}

export function useNote(jobId: string, seed: number | null, row: Row): Noting {
  const { data: notes } = useQuery(notesQuery(jobId));
  const [hasEnded, setEnded] = useState(false);
  const [, refresh] = useState(0);
  const key = `${jobId} ${seed} ${addressOf(row.stage, row.step, row.index)}`;
  const draft = drafts.get(key);
  return {
    jobId,
    seed,
    row,
    response: draft?.response ?? row.sample.response,
    note: notes && noteOn(notes, seed, row),
    isLoaded: notes !== undefined,
    draft,
    begin: () => {
      drafts.set(key, { text: null, response: row.sample.response });
      refresh((count) => count + 1);
    },
    keep: (typed) => drafts.set(key, typed),
    end: () => {
      drafts.delete(key);
      setEnded(true);
      refresh((count) => count + 1);
    },
    hasEnded,
  };
}
