import type { Dataset, DatasetKind } from "@/lib/api/types";
import { count } from "@/lib/format";
import { visible } from "@/lib/visible";

type Offered = Pick<Dataset, "id" | "name" | "kind" | "status" | "version" | "rows" | "damage" | "created_at">;

const NOT_READY: Record<string, string> = {
  importing: "still being imported",
  failed: "its import failed",
  blocked: "has blocking findings",
};

/** An option of a list; `blocked`: why it cannot be chosen. */
interface Option {
  readonly value: string;
  readonly label: string;
  readonly blocked?: string | undefined;
}

/** Why a job or a round cannot read a dataset; null if it can. An older version may be ready where the newest is not. */
export function whyBlocked(dataset: Offered, kinds: readonly DatasetKind[]): string | null {
  if (!kinds.includes(dataset.kind)) return `holds ${dataset.kind}, not ${kinds.join(" or ")}`;
  if (dataset.damage !== null) return "damaged: import its file again";
  return dataset.version > 1 ? null : (NOT_READY[dataset.status] ?? null);
}

/** The datasets as options: those of one name show day and id, and blocked ones come last with the reason. */
export function datasetOptions(datasets: readonly Offered[], kinds: readonly DatasetKind[]): Option[] {
  const labels = labelsOf(datasets);
  const options = datasets.map((dataset, index) => ({
    value: dataset.id,
    label: labels[index] ?? dataset.id,
    blocked: whyBlocked(dataset, kinds) ?? undefined,
  }));
  return [...options.filter(({ blocked }) => !blocked), ...options.filter(({ blocked }) => blocked)];
}

function labelsOf(datasets: readonly Offered[]): string[] {
  const names = datasets.map(({ name }) => visible(name));
  return datasets.map((dataset, index) => {
    const facts = [dataset.rows === null ? "no rows yet" : count(dataset.rows, "row"), `version ${dataset.version}`];
    if (names.filter((name) => name === names[index]).length > 1)
      facts.push(`added ${dataset.created_at.slice(0, 10)}`, `…${dataset.id.slice(-6)}`);
    return `${names[index]} (${facts.join(", ")})`;
  });
}
