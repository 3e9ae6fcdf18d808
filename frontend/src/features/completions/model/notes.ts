import type { Row } from "@/features/completions/model/rows";
import type { SampleNote } from "@/lib/api/types";

/**
 * The note on a completion. A step that ran again has other completions in the same places: a note belongs to the texts that it was
 * written on, which its own `completion` holds.
 */
export const noteOn = (notes: readonly SampleNote[], seed: number | null, row: Row): SampleNote | undefined =>
  notes.find(
    ({ completion: one }) =>
      one.stage === row.stage &&
      one.step === row.step &&
      one.index === row.index &&
      one.seed === seed &&
      one.response === row.sample.response &&
      one.prompt === row.sample.prompt,
  );

/** The notes after one was written: it takes its place, or is the newest. */
export const withNote = (notes: readonly SampleNote[], written: SampleNote): SampleNote[] =>
  notes.some(({ id }) => id === written.id)
    ? notes.map((note) => (note.id === written.id ? written : note))
    : [written, ...notes];

/** The typed text as the server takes it: tabs are spaces, and line breaks are the only control characters. */
export const noteText = (typed: string): string =>
  typed
    .replaceAll("\t", "    ")
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/(?!\n)[\p{Cc}\p{Cs}]/gu, "")
    .trim();

/** The typed name of an author; null for none. */
export const authorName = (typed: string): string | null => typed.replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, " ").trim() || null;
