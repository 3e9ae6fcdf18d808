import { expect, test } from "vitest";
import { findingTitle, labelsOf, withLabels } from "@/lib/labels";

const METRICS = [
  { stage: "ppo", name: "objective/kl", label: "KL to the reference" },
  { stage: "ppo", name: "eval/kl", label: "Held-out KL" },
  { stage: "ppo", name: "reward/<name>", label: "Reward: <name>" },
  { stage: "evaluation", name: "win_rate", label: "Win rate" },
] as const;
const labelOf = labelsOf(METRICS);

test.each([
  ["ppo", "reward/length", "Reward: length"],
  ["ppo", "objective/kl", "KL to the reference"],
  ["ppo", "kl", "Held-out KL"],
  ["ppo", "win_rate", "Win rate"],
  ["ppo", "best_step", "Best step"],
  [null, "win_rate", "Win rate"],
])("stage %s calls %s %s", (stage, name, label) => expect(labelOf(stage, name)).toBe(label));

test("a text names metrics by their labels, and keeps other code", () => {
  const text = '`objective/kl` is 121: raise `ppo.kl.coef`, with `model.dtype` = "auto".';
  expect(withLabels(text, "ppo", labelOf)).toBe(
    'KL to the reference is 121: raise `ppo.kl.coef`, with `model.dtype` = "auto".',
  );
});

test("a finding has the title of its rule, and one of an older version the name in words", () => {
  expect(findingTitle({ rule: "clipfrac_zero", title: "No clipping" })).toBe("No clipping");
  expect(findingTitle({ rule: "reward_collapse", title: "" })).toBe("Reward collapse");
});
