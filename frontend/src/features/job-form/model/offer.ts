import { stagesIn } from "@/features/job-form/model/layout";
import {
  differences,
  type Difference,
  isObject,
  type Json,
  type JsonObject,
  same,
  valueAt,
} from "@/features/job-form/model/spec";

/** A preset, as far as an offer reads it. */
interface Suitable {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly models: readonly string[];
  readonly rewards: readonly string[];
  readonly spec: { readonly [key: string]: unknown };
}

/** The sections whose settings an offer takes from a preset, each with the stage that reads it. */
const SECTIONS = { reward_model: "reward_model", ppo: "ppo" } as const;

/** The preset for the model and the rewards of the spec; undefined for none, or before the model is chosen. */
export function suited<T extends Suitable>(spec: JsonObject, presets: readonly T[]): T | undefined {
  if (!stagesIn(spec).includes("ppo")) return undefined;
  const model = ["config", "path"].find((name) => valueAt(spec, `model.${name}`) !== undefined);
  const rewards = rewardTypes(spec);
  return presets.find(
    (preset) =>
      model !== undefined && preset.models.includes(model) && rewards.every((type) => preset.rewards.includes(type)),
  );
}

/** The settings of the preset that the spec does not have, by path. */
export function offered(
  spec: JsonObject,
  preset: Suitable,
  defaultOf: (path: string) => Json | undefined,
): Difference[] {
  const stages = stagesIn(spec);
  const usesCritic = (valueAt(spec, "ppo.advantage.estimator") ?? "gae") === "gae";
  return Object.entries(SECTIONS)
    .filter(([, stage]) => stages.includes(stage))
    .flatMap(([section]) => {
      const wanted = preset.spec[section] as JsonObject | undefined;
      return differences(valueAt(spec, section), wanted ?? {}, section);
    })
    .filter(({ path }) => usesCritic || !path.startsWith("ppo.critic."))
    .filter(({ path, before, after }) => after !== undefined && !same(before ?? defaultOf(path), after));
}

/** The types of the spec's rewards. Without rewards it is the run's own reward model. */
function rewardTypes(spec: JsonObject): string[] {
  const rewards = Array.isArray(spec.rewards) ? spec.rewards.filter(isObject) : [];
  const types = rewards.map(({ type }) => (typeof type === "string" ? type : "model"));
  return types.length ? types : ["model"];
}
