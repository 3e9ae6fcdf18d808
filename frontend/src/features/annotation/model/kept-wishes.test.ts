import { expect, test } from "vitest";
import type { Wish } from "@/features/annotation/model/item";
import { keptWishes, whoseWishesWait } from "@/features/annotation/model/kept-wishes";

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

const first: Wish = { type: "answer", verdict: { choice: "1" }, seconds: 3.25 };
const ranked: Wish = { type: "answer", verdict: { ranks: [2, 1, 2] }, seconds: 9 };

test("wishes come back as they were, and those of others and of other keys stay apart", () => {
  const browser = storage();
  keptWishes(browser, "key_1", "ann_1", "Ada: L.").save("item_1", first);
  keptWishes(browser, "key_1", "ann_1", "Ada: L.").save("item_2", ranked);
  keptWishes(browser, "key_1", "ann_1", "Bo").save("item_1", { type: "undo" });
  expect(keptWishes(browser, "key_1", "ann_1", "Ada: L.").load()).toEqual([
    ["item_1", first],
    ["item_2", ranked],
  ]);
  expect(keptWishes(browser, "key_1", "ann_2", "Bo").load()).toEqual([]);
  keptWishes(browser, "key_2", "ann_1", "Bo").save("item_9", first);
  expect(whoseWishesWait(browser, "key_1")).toEqual([
    { round: "ann_1", annotator: "Ada: L." },
    { round: "ann_1", annotator: "Bo" },
  ]);
});

test("a wish that was delivered is gone", () => {
  const browser = storage(["proximal-theme", "dark"]);
  const wishes = keptWishes(browser, "key_1", "ann_1", "Bo");
  wishes.save("item_1", first);
  wishes.remove("item_1");
  expect(wishes.load()).toEqual([]);
  expect(whoseWishesWait(browser, "key_1")).toEqual([]);
});

test("what is no wish is passed over", () => {
  const browser = storage(
    ["proximal-answers:key_1:ann_1:Bo:item_1", "{not JSON"],
    ["proximal-answers:key_1:ann_1:Bo:item_2", '{"type": "answer", "verdict": {"choice": "3"}, "seconds": 1}'],
  );
  expect(keptWishes(browser, "key_1", "ann_1", "Bo").load()).toEqual([]);
});

test("blocked or full storage does not stop anybody", () => {
  expect(keptWishes(null, "key_1", "ann_1", "Bo").load()).toEqual([]);
  const full = {
    ...storage(),
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  };
  expect(() => keptWishes(full, "key_1", "ann_1", "Bo").save("item_1", first)).not.toThrow();
});
