import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { datasetsKey, deleteDataset } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/confirm-dialog";
import styles from "@/features/datasets/datasets.module.css";
import { paths } from "@/lib/paths";

export function DeleteButton({ dataset }: { dataset: Dataset }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteDataset(dataset.id),
    onSuccess: async () => {
      await navigate(paths.datasets);
      void client.invalidateQueries({ queryKey: datasetsKey });
    },
  });
  return (
    <>
      <Button look="danger" onClick={() => setAsking(true)} disabled={remove.isPending}>
        Delete
      </Button>
      {remove.error && (
        <span className={styles.error} role="alert">
          {remove.error.message}
        </span>
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
        <p>Its rows are gone for good. Jobs that used it keep their results, but cannot be run again from here.</p>
      </ConfirmDialog>
    </>
  );
}
