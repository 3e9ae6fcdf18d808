import { useState } from "react";
import { Button, buttonClass } from "@/components/button";
import { MoreIcon } from "@/components/icons";
import { MenuButton, type MenuEntry } from "@/components/menu";
import { ACTIONS, choices, type DialogAction, isDirect, mainAction } from "@/features/job-actions/model/menu";
import { ActionDialog } from "@/features/job-actions/ui/action-dialog";
import { useDirectAction } from "@/features/job-actions/ui/use-actions";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";

interface JobActionsProps {
  job: JobSummary;
  /** `row`: the menu alone, as a small button. */
  look?: "page" | "row";
  /** Called after the job was deleted. */
  onDeleted?: () => void;
}

/** All actions that the state of the job allows: the most important one as a button, and the rest in a menu. */
export function JobActions({ job, look = "page", onDeleted }: JobActionsProps) {
  const [open, setOpen] = useState<DialogAction | null>(null);
  const direct = useDirectAction(job);
  const main = mainAction(job.actions);
  const entries = choices(job.actions).map(({ action, ...base }): MenuEntry => {
    if (action === "clone") return { ...base, to: paths.newJob({ clone: job.id }) };
    if (isDirect(action)) return { ...base, onSelect: () => direct.mutate(action) };
    return { ...base, onSelect: () => setOpen(action) };
  });
  const name = job.name || "this job";
  return (
    <>
      {look === "page" && main && (
        <Button onClick={() => direct.mutate(main)} busy={direct.isPending}>
          {ACTIONS[main].label}
        </Button>
      )}
      {look === "page" && job.actions.includes("command") && (
        <Button onClick={() => setOpen("command")}>Live settings</Button>
      )}
      <MenuButton
        label={look === "row" ? `Actions on ${name}` : "Actions"}
        button={look === "row" ? <MoreIcon /> : "Actions ▾"}
        className={look === "row" ? buttonClass("quiet") : undefined}
        entries={entries}
      />
      {open && <ActionDialog action={open} job={job} onClose={() => setOpen(null)} onDeleted={onDeleted} />}
    </>
  );
}
