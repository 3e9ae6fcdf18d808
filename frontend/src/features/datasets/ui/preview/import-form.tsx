import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useId, useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { datasetsKey } from "@/features/datasets/api/datasets";
import { importUpload, type ImportWanted, type Reading, uploadsKey } from "@/features/datasets/api/imports";
import type { Upload } from "@/features/datasets/api/upload";
import { KINDS } from "@/features/datasets/model/kinds";
import { baseName } from "@/features/datasets/model/file-name";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { paths } from "@/lib/address";
import type { DatasetKind } from "@/lib/api/types";
import styles from "./preview.module.css";

type BadRows = ImportWanted["bad_rows"];

const BAD_ROWS: readonly { id: BadRows; label: string; note: string }[] = [
  {
    id: "report",
    label: "Stop, and show me which",
    note: "The dataset waits until you leave them out, or upload a mended file.",
  },
  { id: "leave_out", label: "Leave them out", note: "The rest can be used at once; what was left out stays listed." },
  { id: "refuse", label: "Store no rows", note: "" },
];

interface Props {
  upload: Upload;
  reading: Reading;
  /** The kind of the rows; null while it is not known. */
  kind: DatasetKind | null;
  /** Why it cannot be imported yet; null when it can. */
  blocked: string | null;
}

/** The last step: its name, what happens to records that cannot be used, and go. */
export function ImportForm({ upload, reading, kind: rowKind, blocked }: Props) {
  const id = useId();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(baseName(upload.filename));
  const [badRows, setBadRows] = useState<BadRows>("report");
  const start = useMutation({
    mutationFn: importUpload,
    onSuccess: (dataset) => {
      void client.invalidateQueries({ queryKey: datasetsKey });
      void client.invalidateQueries({ queryKey: uploadsKey });
      return navigate(paths.dataset(dataset.id));
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!blocked) start.mutate({ ...reading, upload: upload.id, name: name.trim(), bad_rows: badRows });
  };
  const kind = KINDS.find((one) => one.id === rowKind);
  return (
    <form className={styles.card} onSubmit={submit} aria-label="Import">
      <label htmlFor={id}>Name</label>
      <input
        id={id}
        type="text"
        value={name}
        maxLength={200}
        required
        onChange={(event) => setName(event.target.value)}
      />
      {kind && (
        <p className={styles.note}>
          <b>{kind.label}.</b> {kind.use}
        </p>
      )}
      <fieldset className={styles.readings}>
        <legend>A record that cannot be used</legend>
        {BAD_ROWS.map((choice) => (
          <label key={choice.id}>
            <input
              type="radio"
              name={`${id}-bad`}
              checked={choice.id === badRows}
              onChange={() => setBadRows(choice.id)}
            />
            <span>
              {choice.label}
              {choice.note && choice.id === badRows && <small>{choice.note}</small>}
            </span>
          </label>
        ))}
      </fieldset>
      <Button type="submit" look="primary" disabled={blocked !== null || !name.trim() || start.isPending}>
        {start.isPending ? "Starting…" : "Import"}
      </Button>
      {blocked && <p className={styles.note}>{blocked}</p>}
      {start.error && <ProblemLines error={start.error} title="Not imported" />}
    </form>
  );
}
