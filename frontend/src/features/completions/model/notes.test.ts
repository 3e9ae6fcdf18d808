import { expect, test } from "vitest";
import { authorName, noteOn, noteText, withNote } from "@/features/completions/model/notes";
import type { Sample, SampleNote } from "@/lib/api/types";

const sample = (response: string) => ({ prompt: "p", response }) as Sample;
const note = (id: string, response: string, seed: number | null = null) =>
  ({ id, text: id, completion: { ...sample(response), seed, stage: "ppo", step: 2, index: 0 } }) as SampleNote;
const row = (response: string, step = 2) => ({ sample: sample(response), stage: "ppo", step, index: 0 });

test("a note is on the completion with its texts, in its place", () => {
  const notes = [note("a", "old"), note("b", "new")];
  expect(noteOn(notes, null, row("new"))?.id).toBe("b");
  expect(noteOn(notes, null, row("old"))?.id).toBe("a");
  expect(noteOn(notes, null, row("newer"))).toBeUndefined();
  expect(noteOn(notes, null, row("new", 3))).toBeUndefined();
});

test("a note of one seed is on no completion of another", () => {
  expect(noteOn([note("a", "r", 5)], 6, row("r"))).toBeUndefined();
  expect(noteOn([note("a", "r", 5)], 5, row("r"))?.id).toBe("a");
});

test("a written note keeps its place, and a new one comes first", () => {
  const notes = [note("a", "r"), note("b", "s")];
  expect(withNote(notes, { ...note("b", "s"), text: "edited" }).map(({ text }) => text)).toEqual(["a", "edited"]);
  expect(withNote(notes, note("c", "t")).map(({ id }) => id)).toEqual(["c", "a", "b"]);
});

test("typed text loses what the server refuses, and keeps its lines", () => {
  expect(noteText(" a\tb\r\nc\u0000\u001b \n")).toBe("a    b\nc");
  expect(authorName("  Ada\n L. ")).toBe("Ada L.");
  expect(authorName(" \t ")).toBeNull();
});
