import { expect, test } from "vitest";
import { listedKeys } from "@/lib/shortcuts";

test("groups with one heading are listed as one, without repeated rows", () => {
  const arrows = { heading: "Chart", rows: [["←", "Back"]] } as const;
  const full = { heading: "Chart", rows: [["F", "Full screen"], ["←", "Back"]] } as const; // prettier-ignore
  const steps = { heading: "Steps", rows: [["[", "Earlier"]] } as const;
  expect(listedKeys([arrows, steps, full, full])).toEqual([
    { heading: "Chart", rows: [["←", "Back"], ["F", "Full screen"]] },
    { heading: "Steps", rows: [["[", "Earlier"]] },
  ]); // prettier-ignore
  expect(listedKeys([])).toEqual([]);
});
