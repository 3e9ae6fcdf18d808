import { expect, test } from "vitest";
import { offered, suited } from "@/features/job-form/model/offer";

const preset = (name: string, models: string[], rewards: string[], spec = {}) => ({
  name,
  title: name,
  description: "",
  models,
  rewards,
  spec,
});
const PRESETS = [
  preset("reward model", ["path"], ["model"]),
  preset("after SFT", ["path"], ["exact_match", "http"]),
  preset("new", ["config"], ["exact_match", "http"]),
];
const nameFor = (spec: Parameters<typeof suited>[0]) => suited(spec, PRESETS)?.name;
const path = { path: "model" };

test("a job is offered the preset for its model and rewards", () => {
  expect(nameFor({ model: path })).toBe("reward model");
  expect(nameFor({ model: path, rewards: [{ type: "http" }] })).toBe("after SFT");
  expect(nameFor({ model: { config: {} }, rewards: [{ type: "http" }, { type: "exact_match" }] })).toBe("new");
});

test("a job that no preset is for gets no offer", () => {
  expect(nameFor({})).toBeUndefined();
  expect(nameFor({ model: { config: {} } })).toBeUndefined();
  expect(nameFor({ model: path, rewards: [{ type: "http" }, { type: "length" }] })).toBeUndefined();
  expect(nameFor({ model: path, stages: ["sft"] })).toBeUndefined();
});

const OFFER = preset("any", [], [], {
  model: path,
  reward_model: { epochs: 1 },
  ppo: { batch_size: 64, kl: { coef: 0.05 }, critic: { learning_rate: 1e-5 } },
});

const defaultOf = (path: string) => (path === "ppo.batch_size" ? 64 : undefined);

test("an offer has the settings of the job's stages that differ", () => {
  const spec = { stages: ["ppo"], ppo: { kl: { coef: 0.1 }, steps: 3 } };
  expect(offered(spec, OFFER, defaultOf)).toEqual([
    { path: "ppo.kl.coef", before: 0.1, after: 0.05 },
    { path: "ppo.critic.learning_rate", before: undefined, after: 1e-5 },
  ]);
  expect(offered({}, OFFER, defaultOf).map(({ path }) => path)).toContain("reward_model.epochs");
});

test("an offer has no setting of a critic that the job lacks", () => {
  const spec = { stages: ["ppo"], ppo: { advantage: { estimator: "sequence" } } };
  expect(offered(spec, OFFER, defaultOf).map(({ path }) => path)).toEqual(["ppo.kl.coef"]);
});
