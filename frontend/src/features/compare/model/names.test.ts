import { expect, test } from "vitest";
import { shortNames } from "@/features/compare/model/names";

const short = (...names: string[]) => shortNames(names.map((name, index) => ({ id: `job_aaaaa${index}`, name })));

test.each([
  [
    ["KL and learning rate 1: lr=0.1", "KL and learning rate 2: lr=0.1", "Tiny"],
    ["…1: lr=0.1", "…2: lr=0.1", "Tiny"],
  ],
  [
    ["baseline-with-clipping-3", "baseline-with-clipping", "baseline-with-decay"],
    ["…clipping-3", "…clipping", "…decay"],
  ],
  [
    ["A run", "A rung"],
    ["A run", "A rung"],
  ],
  [
    ["Twice", "Twice", ""],
    ["Twice (aaaaa0)", "Twice (aaaaa1)", "Unnamed job"],
  ],
  [
    ["One long beginning: a", "One long beginning: b", "Another beginning: a", "Another beginning: b"],
    ["One long beginning: a", "One long beginning: b", "Another beginning: a", "Another beginning: b"],
  ],
])("%j are told apart as %j", (names, expected) => expect(short(...names)).toEqual(expected));
