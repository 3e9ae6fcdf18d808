import { expect, test } from "vitest";
import { baseName } from "@/features/datasets/model/file-name";
import {
  fromMapping,
  missingChoice,
  missingFields,
  toMapping,
  withField,
  withShape,
} from "@/features/datasets/model/mapping";
import { SHAPES } from "@/features/datasets/model/shapes";

const columns = (...names: string[]) => names.map((name) => ({ name, examples: [] as string[] }));
const shape = (id: string) => {
  const found = SHAPES.find((one) => one.id === id);
  if (!found) throw new Error(id);
  return found;
};
const blank = fromMapping(null, []);
const labelled = (...examples: string[]) =>
  fromMapping({ fields: { a: "x", b: "y", label: "winner" } }, [{ name: "winner", examples }]);

test.each([
  [{ prompt: "q", chosen: "x", rejected: "y" }, "pair"],
  [{ prompt: "q", a: "x", b: "y", label: "w" }, "labelled"],
  [{ prompt: "q", a: "x", b: "y" }, "unlabelled"],
  [{ prompt: "q", completions: "c", ranks: "r" }, "ranked"],
  [{ prompt: "q", completions: "c", scores: "s" }, "scored"],
  [{ prompt: "q", completion: "c", score: "s" }, "rated"],
  [{ prompt: "q", completion: "c" }, "sft"],
  [{ messages: "m" }, "conversation"],
  [{ messages: "m", rank: "r" }, "placedConversation"],
  [{ messages: "m", score: "s", system: "y" }, "ratedConversation"],
  [{ messages: "m", thumb: "u" }, "thumbConversation"],
  [{ chosen: "m", rejected: "y" }, "pair"],
  [{ prompt: "q", completions: "c", order: "o" }, "ordered"],
  [{ prompt: "q", a: "x", b: "y", rank_a: "r", rank_b: "s", input: "i" }, "rankedPair"],
  [{ prompt: "q", completion: "c", rank: "r", system: "y" }, "placed"],
  [{ prompt: "q", system: "y" }, "prompts"],
  [{ prompt: "q" }, "prompts"],
  [{ text: "t" }, "texts"],
])("a mapping of %o becomes the form of %s, and the same mapping again", (fields, id) => {
  const draft = fromMapping({ fields }, []);
  expect(draft.shape.id).toBe(id);
  expect(missingFields(draft)).toEqual([]);
  expect(toMapping(draft).fields).toEqual(fields);
});

test("columns that say nothing begin with a pair, everything to be filled in", () => {
  expect([blank.shape.id, missingFields(blank)]).toEqual(["pair", ["Preferred answer", "Other answer"]]);
});

test("the values of a label are guessed; one that says nothing is sent as not usable", () => {
  const draft = labelled("left", "?", "=");
  expect(draft.labels).toEqual({ left: "a", "?": null, "=": "tie" });
  expect(toMapping(draft).labels).toEqual({ left: "a", "?": null, "=": "tie" });
});

test("a label none of whose values has a meaning says nothing", () => {
  const pair = { prompt: "q", a: "x", b: "y", label: "w" };
  const graded = fromMapping({ fields: pair }, [{ name: "w", examples: ["1", "2", "3"] }]);
  expect(missingChoice(graded)).toBe("Choose the meaning of the values of w.");
  expect(missingChoice({ ...graded, labels: { ...graded.labels, "3": "a" } })).toBeNull();
  expect(missingChoice(fromMapping({ fields: pair }, []))).toBeNull();
  expect(missingChoice(withField(graded, "a", "", []))).toBe("Choose the column of: Answer A.");
});

test("what a mapping says of its labels counts before any guess", () => {
  const draft = fromMapping({ fields: { a: "x", b: "y", label: "w" }, labels: { "1": "b" } }, [
    { name: "w", examples: ["1", "2"] },
  ]);
  expect(draft.labels).toEqual({ "1": "b", "2": null });
});

test("another shape keeps the columns it knows, and finds those that bear its fields' names", () => {
  const draft = withField(blank, "prompt", "question", []);
  const other = withShape(draft, shape("labelled"), columns("question", "meta.a", "B"));
  expect(other.fields).toEqual({ prompt: "question", a: "meta.a", b: "B" });
  expect(missingFields(other)).toEqual(["Which is better"]);
});

test("labels that the sides' columns state follow these columns, and what the user chose stays", () => {
  const file = [{ name: "better", examples: ["1", "2", "0", "A"] }];
  const sides = { prompt: "q", a: "answer_1", b: "answer_2", label: "better" };
  const draft = fromMapping({ fields: sides }, file);
  expect(draft.labels).toEqual({ "1": "a", "2": "b", "0": null, A: "a" });
  const chosen = { ...draft, labels: { ...draft.labels, "0": "tie" as const } };
  const turned = withField(withField(chosen, "a", "answer_2", file), "b", "answer_1", file);
  expect(turned.labels).toEqual({ "1": "b", "2": "a", "0": "tie", A: "a" });
});

test("another label column brings its own values; another field leaves them", () => {
  const both = [
    { name: "winner", examples: ["model_a"] },
    { name: "vote", examples: ["left", "right"] },
  ];
  const draft = withField(labelled("model_a"), "label", "vote", both);
  expect(draft.labels).toEqual({ left: "a", right: "b" });
  expect(withField(draft, "a", "z", both).labels).toEqual(draft.labels);
});

test("a field that was taken away is not sent, nor are labels where there is no label", () => {
  const draft = fromMapping({ fields: { prompt: "q", a: "x", b: "y", label: "w" }, labels: { l: "a" } }, []);
  expect(toMapping(withField(draft, "label", "", []))).toEqual({ fields: { prompt: "q", a: "x", b: "y" } });
});

test.each([
  ["pairs.jsonl.gz", "pairs"],
  ["data/train-00000-of-00001.parquet", "train-00000-of-00001"],
  ["C:\\me\\my.pairs.csv", "my.pairs"],
  [".jsonl", ".jsonl"],
])("%s becomes %s", (filename, name) => expect(baseName(filename)).toBe(name));
