import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { PenIcon } from "@/components/icons";
import { datasetQuery, datasetsKey, renameDataset } from "@/features/datasets/api/datasets";
import type { Dataset } from "@/lib/api/types";
import styles from "@/features/datasets/ui/datasets.module.css";

/** The name, which can be changed: it is for people, jobs go by the id. */
export function Name({ dataset }: { dataset: Dataset }) {
  const [draft, setDraft] = useState<string | null>(null);
  const [wasEdited, setEdited] = useState(false);
  const client = useQueryClient();
  const rename = useMutation({
    mutationFn: (name: string) => renameDataset(dataset.id, name),
    onSuccess: (renamed) => {
      client.setQueryData(datasetQuery(dataset.id).queryKey, renamed);
      void client.invalidateQueries({ queryKey: [...datasetsKey, "list"] });
      setDraft(null);
    },
  });
  const edit = () => {
    setDraft(dataset.name);
    // The focus comes back to where it was.
    setEdited(true);
  };
  if (draft === null) {
    return (
      <h1>
        {dataset.name}
        <Button look="quiet" aria-label="Rename" title="Rename" onClick={edit} autoFocus={wasEdited}>
          <PenIcon />
        </Button>
      </h1>
    );
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const name = draft.trim();
    if (name === dataset.name) setDraft(null);
    else if (name) rename.mutate(name);
  };
  return (
    <form className={styles.rename} onSubmit={submit}>
      <h1 className="visually-hidden">{dataset.name}</h1>
      <input
        type="text"
        aria-label="Name"
        value={draft}
        maxLength={200}
        autoFocus
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && setDraft(null)}
      />
      <Button type="submit" disabled={!draft.trim() || rename.isPending}>
        Rename
      </Button>
      {rename.error && (
        <span className={styles.error} role="alert">
          {rename.error.message}
        </span>
      )}
    </form>
  );
}
