import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { archiveDataset, datasetQuery, datasetsKey } from "@/features/datasets/api/datasets";
import type { Dataset } from "@/lib/api/types";
import styles from "@/features/datasets/ui/datasets.module.css";

/** Out of the list, and back. Nothing is lost by it, so nothing is asked. */
export function ArchiveButton({ dataset }: { dataset: Dataset }) {
  const isArchived = dataset.archived_at !== null;
  const client = useQueryClient();
  const archive = useMutation({
    mutationFn: () => archiveDataset(dataset.id, !isArchived),
    onSuccess: (updated) => {
      client.setQueryData(datasetQuery(dataset.id).queryKey, updated);
      void client.invalidateQueries({ queryKey: [...datasetsKey, "list"] });
    },
  });
  return (
    <>
      <Button onClick={() => archive.mutate()} disabled={archive.isPending}>
        {isArchived ? "Take out of the archive" : "Archive"}
      </Button>
      {archive.error && (
        <span className={styles.error} role="alert">
          {archive.error.message}
        </span>
      )}
    </>
  );
}
