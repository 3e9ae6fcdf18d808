import { stageShort } from "@/lib/states";

interface AnyPolicy {
  readonly model: string | null;
  readonly stage: string | null;
  readonly step: number | null;
  readonly seed: number | null;
}

/** A policy within its job, as `PPO, step 40, seed 1`; a model that is no checkpoint by its path. */
export function policyName({ model, stage, step, seed }: AnyPolicy): string {
  if (stage === null) return model ?? "a model";
  return [stageShort(stage), step !== null && `step ${step}`, seed !== null && `seed ${seed}`]
    .filter(Boolean)
    .join(", ");
}
