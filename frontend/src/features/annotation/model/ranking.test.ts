import { expect, test } from "vitest";
import { back, finished, join, pick, type Ranking, ranksOf, unranked } from "@/features/annotation/model/ranking";

const picked = (...indices: number[]): Ranking => indices.reduce((ranking, index) => pick(ranking, index), unranked);

test("ranks follow the order of picking", () => {
  expect(ranksOf(picked(2, 0), 3)).toEqual([2, null, 1]);
});

test("a tie shares the rank of the one before, and the next one gets the following rank", () => {
  expect(ranksOf(pick(pick(picked(2), 0, true), 1), 3)).toEqual([1, 2, 1]);
});

test("join makes the next pick a tie, and only that one", () => {
  expect(ranksOf(pick(pick(join(picked(3)), 1), 0), 4)).toEqual([2, 1, null, 1]);
});

test("join before the first pick, or twice, changes nothing", () => {
  expect(join(unranked)).toEqual(unranked);
  expect(join(join(picked(1)))).toEqual(picked(1));
});

test("a completion that has a rank loses it, and those behind it move up", () => {
  expect(ranksOf(pick(picked(0, 1, 2), 1), 3)).toEqual([1, null, 2]);
});

test("back takes the last step back, a tie that was announced first", () => {
  const joining = join(picked(0, 1));
  expect(back(joining)).toEqual(picked(0, 1));
  expect(back(back(joining))).toEqual(picked(0));
  expect(back(pick(picked(0), 1, true))).toEqual(picked(0));
  expect(back(unranked)).toEqual(unranked);
});

test("the last one left needs no key", () => {
  expect(finished(picked(2), 3)).toBeNull();
  expect(finished(picked(2, 0), 3)).toEqual([2, 3, 1]);
  expect(finished(join(picked(2, 0)), 3)).toEqual([2, 2, 1]);
  expect(finished(picked(2, 0, 1), 3)).toEqual([2, 3, 1]);
});

test("nothing is finished before anything is picked", () => {
  expect(finished(unranked, 2)).toBeNull();
});
