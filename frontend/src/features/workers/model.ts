import type { Worker, WorkerChange } from "@/features/workers/api";
import { bytes, count } from "@/lib/format";

/** "2 × NVIDIA H100 (80 GiB)", or "CPU, 8 cores" for a worker without a GPU. */
export function hardware({ gpus, cores }: Pick<Worker, "gpus" | "cores">): string {
  if (!gpus.length) return cores ? `CPU, ${count(cores, "core")}` : "CPU";
  const kinds = new Map<string, number>();
  for (const { model, memory_gib } of gpus) {
    const kind = `${model} (${memory_gib} GiB)`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return [...kinds].map(([kind, number]) => (number > 1 ? `${number} × ${kind}` : kind)).join(", ");
}

/** Memory of the machine; null if the worker does not report it. */
export const memory = ({ memory_bytes }: Pick<Worker, "memory_bytes">): string | null =>
  memory_bytes > 0 ? bytes(memory_bytes) : null;

interface Change {
  readonly change: WorkerChange;
  readonly label: string;
}

const CORDON: Change = { change: "cordon", label: "Cordon" };
const DRAIN: Change = { change: "drain", label: "Drain" };
const UNCORDON: Change = { change: "uncordon", label: "Uncordon" };

/** The changes that an operator can make. A drained worker that runs no job is the same as a cordoned one. */
export function changesOf({ state, offline }: Pick<Worker, "state" | "offline">): readonly Change[] {
  if (offline) return [UNCORDON];
  if (state === "online") return [CORDON, DRAIN];
  if (state === "cordoned") return [UNCORDON, DRAIN];
  return [UNCORDON];
}

/** The list after a change. A worker that has stopped leaves it when it is no longer cordoned. */
export const withChange = (workers: readonly Worker[] | undefined, changed: Worker): Worker[] | undefined =>
  workers
    ?.map((one) => (one.id === changed.id ? changed : one))
    .filter((one) => !(one.offline && one.state === "online"));

/** The state in words that need no manual. */
export function stateText({
  state,
  busy,
  job_id,
  offline,
}: Pick<Worker, "state" | "busy" | "job_id" | "offline">): string {
  if (offline) return "Offline. Cordoned: takes no job when it starts again";
  if (state === "draining") return busy ? "Saves its job and gives it back" : "Drained: takes no job";
  if (state === "cordoned") return busy ? "Finishes its job, then takes none" : "Cordoned: takes no job";
  if (!busy) return "Idle";
  return job_id ? "Runs your job" : "Runs a job of another key";
}
