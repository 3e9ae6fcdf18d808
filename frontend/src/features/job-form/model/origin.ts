import { type Field, withoutDefaults } from "@/features/job-form/model/schema";
import { isObject, type JsonObject, withValue } from "@/features/job-form/model/spec";
import { paths } from "@/lib/address";
import { LONGEST } from "@/lib/api/fields.gen";
import type { Checkpoint, Job } from "@/lib/api/types";

/** The job that the form starts from, and for a branch the checkpoint. */
export interface Start {
  readonly job: Job | null;
  readonly checkpoint: Checkpoint | null;
  /** The group that the new job joins. */
  readonly group: { readonly id: string; readonly name: string } | null;
}

/** The page above the form. */
export function parentOf({ job, group }: Start): { to: string; label: string } {
  if (job) return { to: paths.job(job.id), label: job.name || job.id };
  return group ? { to: paths.group(group.id), label: group.name || group.id } : { to: paths.jobs, label: "Jobs" };
}

/** The spec of a stored job without its defaults. A branch has the one seed of its checkpoint. */
export function originSpec(
  job: Pick<Job, "name" | "spec">,
  checkpoint: Pick<Checkpoint, "seed"> | null,
  fields: readonly Field[],
): JsonObject {
  const stored = { ...(job.spec as unknown as JsonObject), name: job.name };
  const seeded = checkpoint?.seed == null ? stored : { ...stored, seed: checkpoint.seed, seeds: 1 };
  return withoutDefaults(seeded, fields);
}

/** A name for a job made from another one: "Name (copy)", then "Name (copy 2)". A job without a name has none. */
export function derivedName(name: string, kind: "copy" | "branch"): string | undefined {
  if (!name) return undefined;
  const found = /^(.*) \((copy|branch)(?: (\d+))?\)$/.exec(name);
  const [, stem = name, last, number = "1"] = found ?? [];
  return `${stem} (${kind}${last === kind ? ` ${Number(number) + 1}` : ""})`.slice(-LONGEST.jobName);
}

/** The spec with the changes of the address: a JSON object of values by path. Throws an Error for any other text. */
export function withChanges(spec: JsonObject, text: string | null): JsonObject {
  if (text === null) return spec;
  return Object.entries(changesIn(text)).reduce((made, [path, value]) => withValue(made, path, value), spec);
}

function changesIn(text: string): JsonObject {
  try {
    const changes: unknown = JSON.parse(text);
    if (isObject(changes)) return changes;
  } catch {
    // The error below names the remedy.
  }
  const shown = text.length > 40 ? `${text.slice(0, 39)}…` : text;
  throw new Error(
    `The changes in the address (set=${shown}) cannot be read. None of them is in the form. Follow the link again, or leave them out.`,
  );
}

/** The parts of a run that continue from a checkpoint, for people. The new job lists them with their reasons. */
export function carriedOver(checkpoint: Pick<Checkpoint, "stage" | "step" | "final">): string[] {
  if (checkpoint.final) return ["the results of the stages up to here; the next stage starts its own optimizer"];
  const parts = ["the results of earlier stages", "the weights", "the optimizer"];
  return checkpoint.stage === "ppo"
    ? [...parts, "the critic", "the KL controller", "the reference", "the order of the prompts"]
    : parts;
}
