import { expect, test } from "vitest";
import { arrivedAt, asking, searchText } from "@/lib/search-text";

const typed = (box: ReturnType<typeof searchText>, text: string) => ({ ...box, text });

test("a space typed before the next word stays, when the search for the first one arrives", () => {
  const box = asking(typed(searchText(""), "red "), "red");
  expect(arrivedAt(box, "red")).toEqual({ text: "red ", shown: "red", asked: [] });
});

test("a search that arrives late does not take back what was typed since", () => {
  const box = typed(asking(asking(typed(searchText(""), "re"), "re"), "red"), "red");
  const late = arrivedAt(box, "re");
  expect(late).toEqual({ text: "red", shown: "re", asked: ["red"] });
  expect(arrivedAt(late, "red")).toEqual({ text: "red", shown: "red", asked: [] });
});

test("a search that came by other means is shown", () => {
  expect(arrivedAt(typed(searchText("red"), "red panda"), "")).toEqual(searchText(""));
});
