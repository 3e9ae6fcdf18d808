import { useRef, useState, type DragEvent } from "react";
import { UploadIcon } from "@/components/icons";
import styles from "@/features/datasets/add/add.module.css";

const ACCEPT = ".jsonl,.ndjson,.json,.csv,.tsv,.parquet,.gz,.zst,.txt";

/** Takes files by drop, by click or by keyboard: it is a label around a real file input. */
export function DropZone({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (list: FileList | null) => {
    const files = [...(list ?? [])];
    if (files.length) onFiles(files);
    // The same file, mended, can be chosen again.
    if (input.current) input.current.value = "";
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  const drag = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <label
      className={`${styles.zone} ${over ? styles.over : ""}`}
      onDragOver={drag}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <input
        ref={input}
        type="file"
        multiple
        className="visually-hidden"
        accept={ACCEPT}
        onChange={(event) => take(event.target.files)}
        aria-label="Files to upload"
      />
      <UploadIcon />
      <span>
        <b>Choose a file</b> or drop it here
        <small>
          JSONL, JSON, CSV or Parquet, plain or as .gz or .zst. Nothing becomes a dataset before you confirm it.
        </small>
      </span>
    </label>
  );
}
