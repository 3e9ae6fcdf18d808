import { expect, test } from "vitest";
import { metadataPatch, metadataText, tagsOf } from "@/features/job-actions/model/description";

test("tags are separated by commas and occur once", () =>
  expect(tagsOf(" PPO, ablation,,ppo ")).toEqual(["ppo", "ablation"]));

test("metadata as lines and back as a patch", () => {
  const before = { paper: "section 4", owner: "kim" };
  expect(metadataText(before)).toBe("paper = section 4\nowner = kim");
  expect(metadataPatch(before, "paper = section 5\nurl = a=b\n")).toEqual({
    owner: null,
    paper: "section 5",
    url: "a=b",
  });
  expect(() => metadataPatch({}, "a = 1\nno key")).toThrow("Line 2");
});
