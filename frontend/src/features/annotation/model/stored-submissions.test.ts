import { expect, test } from "vitest";
import type { Submission } from "@/features/annotation/model/item";
import { storedSubmissions, storedSubmitters } from "@/features/annotation/model/stored-submissions";

function storage(...entries: [string, string][]) {
  const map = new Map(entries);
  return {
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
    removeItem: (key: string) => void map.delete(key),
    key: (index: number) => [...map.keys()][index] ?? null,
    get length() {
      return map.size;
    },
  };
}

const first: Submission = { type: "answer", verdict: { choice: "1" }, seconds: 3.25 };
const ranked: Submission = { type: "answer", verdict: { ranks: [2, 1, 2] }, seconds: 9 };

test("loads submissions unchanged, by annotator and key", () => {
  const browser = storage();
  storedSubmissions(browser, "key_1", "ann_1", "Ada: L.").save("item_1", first);
  storedSubmissions(browser, "key_1", "ann_1", "Ada: L.").save("item_2", ranked);
  storedSubmissions(browser, "key_1", "ann_1", "Bo").save("item_1", { type: "undo" });
  expect(storedSubmissions(browser, "key_1", "ann_1", "Ada: L.").load()).toEqual([
    ["item_1", first],
    ["item_2", ranked],
  ]);
  expect(storedSubmissions(browser, "key_1", "ann_2", "Bo").load()).toEqual([]);
  storedSubmissions(browser, "key_2", "ann_1", "Bo").save("item_9", first);
  expect(storedSubmitters(browser, "key_1")).toEqual([
    { round: "ann_1", annotator: "Ada: L." },
    { round: "ann_1", annotator: "Bo" },
  ]);
});

test("removes a delivered submission", () => {
  const browser = storage(["proximal-theme", "dark"]);
  const submissions = storedSubmissions(browser, "key_1", "ann_1", "Bo");
  submissions.save("item_1", first);
  submissions.remove("item_1");
  expect(submissions.load()).toEqual([]);
  expect(storedSubmitters(browser, "key_1")).toEqual([]);
});

test("ignores an entry that is not a submission", () => {
  const browser = storage(
    ["proximal-answers:key_1:ann_1:Bo:item_1", "{not JSON"],
    ["proximal-answers:key_1:ann_1:Bo:item_2", '{"type": "answer", "verdict": {"choice": "3"}, "seconds": 1}'],
  );
  expect(storedSubmissions(browser, "key_1", "ann_1", "Bo").load()).toEqual([]);
});

test("does not fail if storage is blocked or full", () => {
  expect(storedSubmissions(null, "key_1", "ann_1", "Bo").load()).toEqual([]);
  const full = {
    ...storage(),
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  };
  expect(() => storedSubmissions(full, "key_1", "ann_1", "Bo").save("item_1", first)).not.toThrow();
});
