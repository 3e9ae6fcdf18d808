import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { toast } from "@/components/toast";
import { knobsQuery, sendCommands } from "@/features/job-actions/api";
import { changeParameter, changeText, liveChange } from "@/features/job-actions/model/knobs";
import { jobsKey } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import { KNOBS } from "@/lib/api/knobs.gen";
import type { JobSummary, SuggestedChange } from "@/lib/api/types";
import { number } from "@/lib/format";
import { useReadOnly } from "@/lib/read-only";
import styles from "./actions.module.css";

interface FindingActionProps {
  job: Pick<JobSummary, "id" | "actions">;
  /** The alternatives of a finding. Runs of an older release have none. */
  changes: readonly SuggestedChange[] | undefined;
}

/** "Apply this suggestion": each alternative of a health finding, as a live change or as a new job with a changed spec. */
export function FindingAction({ job, changes = [] }: FindingActionProps) {
  const readOnly = useReadOnly();
  const isLive = !readOnly && job.actions.includes("command");
  const knobs = useQuery({ ...knobsQuery(job.id), enabled: isLive && changes.length > 0 });
  if (readOnly || !changes.length) return null;
  return (
    <p className={styles.suggested}>
      Apply:
      {changes.map((change) => {
        const live = isLive && knobs.data ? liveChange(change, knobs.data.knobs) : null;
        if (live) return <LiveButton key={change.field} jobId={job.id} live={live} />;
        const set = changeParameter([change]);
        return (
          <Link
            key={change.field}
            className={buttonClass()}
            to={paths.newJob({ clone: job.id, set })}
            title="Opens the form of a new job with this change"
          >
            Clone with {changeText(change)}
          </Link>
        );
      })}
    </p>
  );
}

function LiveButton({ jobId, live }: { jobId: string; live: NonNullable<ReturnType<typeof liveChange>> }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const label = KNOBS[live.knob.name].label;
  const send = useMutation({
    mutationFn: (value: number) => sendCommands(jobId, { [live.knob.name]: value, evaluate: false, checkpoint: false }),
    onSuccess: (_, value) => {
      const undo = value === live.to ? { undo: () => send.mutate(live.from) } : {};
      toast(`${label} changes to ${number(value)} after the present step.`, undo);
      void client.invalidateQueries({ queryKey: [...jobsKey, jobId] });
    },
    onError: (error) => toast(error.message, { tone: "bad" }),
  });
  return (
    <>
      <Button onClick={() => setAsking(true)} busy={send.isPending}>
        {label} {number(live.from)} → {number(live.to)}
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Change the ${label} of this run?`}
        confirm="Change it"
        keep="Leave it"
        look="primary"
        onConfirm={() => {
          setAsking(false);
          send.mutate(live.to);
        }}
        onClose={() => setAsking(false)}
      >
        <p>
          <code>{live.knob.field}</code> changes from {number(live.from)} to {number(live.to)} after the present step.
          You can change it back in the live settings.
        </p>
      </ConfirmDialog>
    </>
  );
}
