import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { datasetsKey, deleteDataset } from "@/features/datasets/api/datasets";
import { pinsOf } from "@/features/datasets/ui/page/pins";
import { ApiError } from "@/lib/api/problem";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { count } from "@/lib/format";
import { paths } from "@/lib/paths";
import styles from "@/features/datasets/ui/datasets.module.css";

interface Props {
  dataset: Dataset;
  versions: readonly DatasetVersion[];
}

/** Deletes the dataset after a question that tells which jobs name it. One that a job still needs is kept, with the list. */
export function DeleteButton({ dataset, versions }: Props) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteDataset(dataset.id),
    onSuccess: async () => {
      await navigate(paths.datasets);
      client.removeQueries({ queryKey: [...datasetsKey, dataset.id] });
      void client.invalidateQueries({ queryKey: datasetsKey });
    },
  });
  const jobs = [...new Set(versions.flatMap((version) => version.jobs))];
  return (
    <>
      <Button look="danger" onClick={() => setAsking(true)} disabled={remove.isPending}>
        Delete
      </Button>
      {remove.error && (
        <div className={styles.error} role="alert">
          <p>{remove.error.message}</p>
          <JobLinks ids={remove.error instanceof ApiError ? pinsOf(remove.error.body) : []} />
        </div>
      )}
      <ConfirmDialog
        open={asking}
        title={`Delete ${dataset.name}?`}
        confirm="Delete it"
        keep="Keep it"
        onConfirm={() => {
          setAsking(false);
          remove.mutate();
        }}
        onClose={() => setAsking(false)}
      >
        <p>
          {versions.length > 1 ? `All ${count(versions.length, "version")} of it are` : "Its rows are"} gone for good.
          {jobs.length > 0 && ` ${count(jobs.length, "job")} used it; while one of them has not ended, it is refused.`}
        </p>
        <JobLinks ids={jobs} />
      </ConfirmDialog>
    </>
  );
}

const SHOWN = 8;

function JobLinks({ ids }: { ids: readonly string[] }) {
  if (!ids.length) return null;
  return (
    <ul className={styles.pins}>
      {ids.slice(0, SHOWN).map((id) => (
        <li key={id}>
          <Link to={paths.job(id)}>{id}</Link>
        </li>
      ))}
      {ids.length > SHOWN && <li>and {ids.length - SHOWN} more</li>}
    </ul>
  );
}
