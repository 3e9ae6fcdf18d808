import { expect, test } from "vitest";
import { sweepName } from "@/lib/states";

test("a run of a sweep is named by what differs", () => {
  const values = { "ppo.learning_rate": 0.001, "sft.learning_rate": 1e-7, "model.path": "a/b" };
  expect(sweepName({ name: "KL 3: ppo.learning_rate=0.001, sft.learning_rate=1e-07" }, values)).toEqual({
    name: "KL 3",
    values: ["ppo.learning_rate 0.001", "sft.learning_rate 1e-7", "model.path a/b"],
  });
  expect(sweepName({ name: "my own" }, { "ppo.steps": 5 })).toEqual({ name: "my own", values: ["ppo.steps 5"] });
  expect(sweepName({ name: "" }, { "ppo.policy_loss.clip_range": 1 }).values).toEqual(["clip_range 1"]);
  expect(sweepName({ name: "" })).toEqual({ name: "Unnamed job", values: [] });
});
