import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { Link } from "react-router";
import { datasetsKey } from "@/api/datasets";
import type { DatasetKind } from "@/api/types";
import { uploadDataset, type Upload } from "@/api/upload";
import { Button } from "@/components/button";
import { ProgressBar } from "@/components/progress-bar";
import { DropZone } from "@/features/datasets/drop-zone";
import { KINDS } from "@/features/datasets/kinds";
import styles from "@/features/datasets/upload.module.css";
import { UploadProblem } from "@/features/datasets/upload-problem";
import { count, percent } from "@/lib/format";
import { paths } from "@/lib/paths";

/** Folded away where there are datasets already, so that the list comes first; open while it is in use. */
export function UploadForm({ open }: { open: boolean }) {
  const [file, setFile] = useState<File | null>(null);
  const [kind, setKind] = useState<DatasetKind>("preferences");
  const [sent, setSent] = useState(0);
  const client = useQueryClient();
  const upload = useMutation({
    mutationFn: (wanted: Upload) => uploadDataset(wanted, setSent),
    onSuccess: () => {
      setFile(null);
      void client.invalidateQueries({ queryKey: datasetsKey });
    },
  });
  const choose = (chosen: File) => {
    upload.reset();
    setFile(chosen);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!file) return;
    setSent(0);
    upload.mutate({ file, kind, name: file.name });
  };
  const info = KINDS.find((one) => one.id === kind);
  return (
    <details className={styles.upload} open={open || file !== null || !upload.isIdle || undefined}>
      <summary>Upload a dataset</summary>
      <form onSubmit={submit}>
        <DropZone file={file} onFile={choose} disabled={upload.isPending} />
        <label className={styles.kind}>
          What its rows are
          <select value={kind} onChange={(event) => setKind(asKind(event.target.value))} disabled={upload.isPending}>
            {KINDS.map((one) => (
              <option key={one.id} value={one.id}>
                {one.label}
              </option>
            ))}
          </select>
        </label>
        <p className={styles.about}>
          {info?.use} One JSON object a line{(info?.examples.length ?? 0) > 1 && ", such as one of these"}:
        </p>
        <ul className={styles.examples}>
          {info?.examples.map((example) => (
            <li key={example}>
              <code>{example}</code>
            </li>
          ))}
        </ul>
        <Button type="submit" look="primary" disabled={!file || upload.isPending}>
          Upload
        </Button>
        {upload.isPending && (
          <div className={styles.sending} role="status">
            <ProgressBar fraction={sent} label="Upload" />
            {sent < 1 ? `${percent(sent)} sent` : "Sent. Every row is being checked…"}
          </div>
        )}
        {upload.data && (
          <p className={styles.done} role="status">
            Stored <Link to={paths.dataset(upload.data.id)}>{upload.data.name}</Link>: {count(upload.data.rows, "row")},
            all in order.
          </p>
        )}
        {upload.error && <UploadProblem error={upload.error} />}
      </form>
    </details>
  );
}

const asKind = (value: string): DatasetKind => KINDS.find((one) => one.id === value)?.id ?? "preferences";
