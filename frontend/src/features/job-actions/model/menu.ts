import type { JobAction } from "@/lib/api/types";

export type Choice = JobAction | "edit";

interface Entry {
  readonly action: Choice;
  readonly label: string;
  readonly danger?: boolean;
}

/** All actions, in groups. */
const GROUPS: readonly (readonly Entry[])[] = [
  [
    { action: "pause", label: "Pause" },
    { action: "resume", label: "Resume" },
    { action: "retry", label: "Retry" },
    { action: "command", label: "Change live settings…" },
  ],
  [
    { action: "clone", label: "Clone with changes" },
    { action: "branch", label: "Branch from a checkpoint…" },
    { action: "extend", label: "Extend by PPO steps…" },
  ],
  [
    { action: "edit", label: "Edit name, tags and notes…" },
    { action: "archive", label: "Archive" },
    { action: "unarchive", label: "Take out of the archive" },
  ],
  [
    { action: "cancel", label: "Cancel…", danger: true },
    { action: "delete", label: "Delete…", danger: true },
  ],
];

/** The actions that a job allows, in the order of the menu. `group` marks the first one of each group. */
export function choices(allowed: readonly JobAction[]): (Entry & { group: boolean })[] {
  const has = (action: Choice): boolean => action === "edit" || allowed.includes(action);
  return GROUPS.flatMap((group) =>
    group.filter(({ action }) => has(action)).map((entry, index) => ({ ...entry, group: index === 0 })),
  );
}

const MAIN: readonly JobAction[] = ["pause", "resume", "retry"];

/** The action that a page offers as a button of its own. */
export const mainAction = (allowed: readonly JobAction[]): JobAction | undefined =>
  MAIN.find((action) => allowed.includes(action));
