import type { Worker, WorkerChange } from "@/features/workers/api";
import { bytes, count } from "@/lib/format";

/** "2 × NVIDIA H100 (80 GiB)", or "CPU, 8 cores" for a worker without a GPU. */
export function hardware({ gpus, cores, cluster }: Pick<Worker, "gpus" | "cores" | "cluster">): string {
  if (cluster)
    return cluster.engine === "slurm" ? `Slurm cluster ${cluster.name}` : `Kubernetes namespace ${cluster.name}`;
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

type Partition = NonNullable<Worker["cluster"]>["partitions"][number];
interface ClusterRow extends Omit<Partition, "groups"> {
  readonly key: string;
  readonly group: Partition["groups"][number] | null;
}

/** The clusters of the workers with partitions, each once, as the newest of its workers reports it. */
export function clustersOf(workers: readonly Worker[]): readonly NonNullable<Worker["cluster"]>[] {
  const found = new Map<string, NonNullable<Worker["cluster"]>>();
  const byAge = [...workers].sort((one, other) => one.last_seen_at.localeCompare(other.last_seen_at));
  for (const { cluster } of byAge) if (cluster?.partitions.length) found.set(cluster.name, cluster);
  return [...found.values()];
}

/** A row for each group of equal nodes. A partition without nodes has one row. */
export const rowsOf = (partitions: readonly Partition[]): ClusterRow[] =>
  partitions.flatMap(({ groups, ...partition }) =>
    (groups.length ? groups : [null]).map((group) => ({
      ...partition,
      group,
      key: `${partition.name} ${group?.state ?? ""} ${group?.nodes ?? ""}`,
    })),
  );

/** "2 × 64 cores, 8 GPUs, 550 GB". */
export function nodesText({ count: number, cores, gpus, memory_mib }: Partition["groups"][number]): string {
  const parts = [count(cores, "core"), ...(gpus ? [count(gpus, "GPU")] : []), bytes(memory_mib * 2 ** 20)];
  return `${number} × ${parts.join(", ")}`;
}

/** The state in words that need no manual. */
export function stateText({
  state,
  busy,
  job_id,
  offline,
  problem,
}: Pick<Worker, "state" | "busy" | "job_id" | "offline" | "problem">): string {
  if (offline) return "Offline. Cordoned: takes no job when it starts again";
  if (state === "draining") return busy ? "Saves its job and gives it back" : "Drained: takes no job";
  if (state === "cordoned") return busy ? "Finishes its job, then takes none" : "Cordoned: takes no job";
  if (!busy) return problem ?? "Idle";
  return job_id ? "Runs your job" : "Runs a job of another key";
}
