import { useRef } from "react";
import { UploadIcon } from "@/components/icons";
import styles from "./add.module.css";

const ACCEPT = ".jsonl,.ndjson,.json,.csv,.tsv,.parquet,.gz,.zst,.txt";

interface Props {
  /** Files are being held over the page. */
  over: boolean;
  onFiles: (files: readonly File[]) => void;
}

/** Takes files by click or by keyboard: it is a label around a real file input. The page around it takes dropped ones. */
export function DropZone({ over, onFiles }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const take = (list: FileList | null) => {
    const files = [...(list ?? [])];
    if (files.length) onFiles(files);
    // The same file, mended, can be chosen again.
    if (input.current) input.current.value = "";
  };
  return (
    <label className={`${styles.zone} ${over ? styles.over : ""}`}>
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
