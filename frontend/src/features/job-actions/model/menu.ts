import type { JobAction } from "@/lib/api/types";

export type Choice = JobAction | "edit";

interface Entry {
  readonly label: string;
  /** Actions of one group stand together in the menu. */
  readonly group: "run" | "new job" | "list" | "danger";
  /** The message after the request, which needs no further input. Other actions open a dialog or a form. */
  readonly done?: string;
  /** The action that takes this one back. */
  readonly undo?: JobAction;
  /** Whether a page offers it as a button of its own. */
  readonly main?: true;
}

/** All actions, in the order of the menu. */
export const ACTIONS = {
  pause: { label: "Pause", group: "run", done: "The job pauses after its present step.", main: true },
  resume: { label: "Resume", group: "run", done: "The job is queued again.", main: true },
  retry: {
    label: "Retry",
    group: "run",
    done: "The job is queued again. It continues from its last checkpoint.",
    main: true,
  },
  command: { label: "Change live settings…", group: "run" },
  clone: { label: "Clone with changes", group: "new job" },
  branch: { label: "Branch from a checkpoint…", group: "new job" },
  extend: { label: "Extend by PPO steps…", group: "new job" },
  edit: { label: "Edit name, tags and notes…", group: "list" },
  archive: { label: "Archive", group: "list", done: "The job is archived.", undo: "unarchive" },
  unarchive: {
    label: "Take out of the archive",
    group: "list",
    done: "The job is back in the list.",
    undo: "archive",
  },
  cancel: { label: "Cancel…", group: "danger" },
  delete: { label: "Delete…", group: "danger" },
} as const satisfies Record<Choice, Entry>;

/** The actions that a request alone carries out. */
export type DirectAction = { [A in Choice]: (typeof ACTIONS)[A] extends { done: string } ? A : never }[Choice];
/** The actions with a dialog. */
export type DialogAction = Exclude<Choice, DirectAction | "clone">;

export const isDirect = (action: Choice): action is DirectAction => "done" in ACTIONS[action];

const ORDER = Object.keys(ACTIONS) as Choice[];
const isAllowed = (action: Choice, allowed: readonly JobAction[]): boolean =>
  action === "edit" || allowed.includes(action);

/** The actions that a job allows, in the order of the menu. `group` marks the first one of each group. */
export function choices(allowed: readonly JobAction[]) {
  const shown = ORDER.filter((action) => isAllowed(action, allowed));
  return shown.map((action, index) => {
    const { label, group } = ACTIONS[action];
    const before = shown[index - 1];
    return { action, label, danger: group === "danger", group: !before || ACTIONS[before].group !== group };
  });
}

/** The action that a page offers as a button of its own. */
export const mainAction = (allowed: readonly JobAction[]): DirectAction | undefined =>
  ORDER.filter(isDirect).find((action) => "main" in ACTIONS[action] && isAllowed(action, allowed));
