import { paths } from "@/lib/address";

export interface Place {
  readonly label: string;
  readonly to: string;
  /** Keys in the syntax of tinykeys. */
  readonly keys?: string;
}

/** The pages that the palette and the keys open. */
export const PLACES: readonly Place[] = [
  { label: "Jobs", to: paths.jobs, keys: "g j" },
  { label: "Compare runs", to: paths.compare(), keys: "g c" },
  { label: "Groups of jobs", to: paths.groups, keys: "g g" },
  { label: "Templates of jobs", to: paths.templates, keys: "g t" },
  { label: "Datasets", to: paths.datasets, keys: "g d" },
  { label: "Annotation rounds", to: paths.rounds, keys: "g a" },
  { label: "Workers", to: paths.workers, keys: "g w" },
  { label: "Settings", to: paths.settings(), keys: "g s" },
  { label: "API keys", to: paths.settings("keys") },
  { label: "Usage and limits", to: paths.settings("usage") },
  { label: "New job", to: paths.newJob(), keys: "n j" },
  { label: "Add a dataset", to: paths.newDataset, keys: "n d" },
  { label: "New annotation round", to: paths.newRound(), keys: "n a" },
  { label: "REST API reference", to: paths.docs },
];

/** The places whose name contains every word of `text`. */
export function placesFor(text: string, places: readonly Place[] = PLACES): readonly Place[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return places.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

/** "g j" as people read it: "G then J". */
export const spoken = (keys: string): string =>
  keys
    .split(" ")
    .map((key) => key.toUpperCase())
    .join(" then ");
