import { Suspense } from "react";
import { loadable } from "@/components/loadable";
import type { DialogAction } from "@/features/job-actions/model/menu";
import type { JobSummary } from "@/lib/api/types";

/** The dialogs are loaded when the first one opens. */
const Dialogs = loadable(async () => (await import("@/features/job-actions/ui/dialogs")).JobDialog);

export interface ActionDialogProps {
  action: DialogAction;
  job: JobSummary;
  onClose: () => void;
  onDeleted?: (() => void) | undefined;
}

/** The dialog of an action that needs an answer. */
export function ActionDialog(props: ActionDialogProps) {
  return (
    <Suspense fallback={null}>
      <Dialogs {...props} />
    </Suspense>
  );
}
