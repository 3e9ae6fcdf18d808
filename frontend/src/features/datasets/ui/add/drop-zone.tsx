import { useEffect, useRef, useState } from "react";
import { UploadIcon } from "@/components/icons";
import styles from "./add.module.css";

const ACCEPT = ".jsonl,.ndjson,.json,.csv,.tsv,.parquet,.gz,.zst,.txt";

interface DropZoneProps {
  /** Files are being held over the page. */
  over: boolean;
  onFiles: (files: readonly File[]) => void;
}

/** Takes files by click or by keyboard: it is a label around a real file input. The page around it takes dropped ones. */
export function DropZone({ over, onFiles }: DropZoneProps) {
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
          JSONL, JSON, CSV or Parquet, plain or as .gz or .zst. You confirm the result before it becomes a dataset.
        </small>
      </span>
    </label>
  );
}

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

/** Files may be dropped anywhere on the page; whether some are being held over it. `onFiles` stays the same. */
export function useDropAnywhere(onFiles: (files: readonly File[]) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const drag = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      // Out of the window, and not merely from one element to the next.
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      onFiles([...(event.dataTransfer?.files ?? [])]);
    };
    document.addEventListener("dragover", drag);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", drag);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  }, [onFiles]);
  return over;
}
