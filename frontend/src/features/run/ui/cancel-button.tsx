import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { cancelJob, jobQuery, jobsKey } from "@/features/jobs/api";
import type { Job } from "@/lib/api/types";
import styles from "./run.module.css";

export function CancelButton({ job }: { job: Job }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelJob(job.id),
    onSuccess: (updated) => client.setQueryData(jobQuery(job.id).queryKey, updated),
    // A job that has just ended by itself refuses; what it has become is the answer.
    onError: () => void client.invalidateQueries({ queryKey: jobsKey }),
  });
  const confirm = () => {
    setAsking(false);
    cancel.mutate();
  };
  return (
    <>
      {cancel.error && (
        <span className={styles.error} role="alert">
          {cancel.error.message}
        </span>
      )}
      <Button look="danger" onClick={() => setAsking(true)} disabled={cancel.isPending}>
        {cancel.isPending ? "Cancelling…" : "Cancel job"}
      </Button>
      <ConfirmDialog
        open={asking}
        title="Cancel this job?"
        confirm="Cancel the job"
        keep="Keep it"
        onConfirm={confirm}
        onClose={() => setAsking(false)}
      >
        <p>
          {job.status === "queued"
            ? "It has not started, so nothing is lost."
            : "It stops after its present step. Checkpoints saved so far stay, but a cancelled job cannot go on."}
        </p>
      </ConfirmDialog>
    </>
  );
}
