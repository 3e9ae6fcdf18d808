import { useRef, useState, type DragEvent } from "react";
import { UploadIcon } from "@/components/icons";
import styles from "@/features/datasets/upload.module.css";
import { bytes } from "@/lib/format";

interface Props {
  file: File | null;
  onFile: (file: File) => void;
  disabled: boolean;
}

/** Takes a file by drop, by click or by keyboard: it is a label around a real file input. */
export function DropZone({ file, onFile, disabled }: Props) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: FileList | null) => {
    const first = files?.[0];
    if (first && !disabled) onFile(first);
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
        className="visually-hidden"
        accept=".jsonl,.ndjson,.json,.txt"
        disabled={disabled}
        onChange={(event) => take(event.target.files)}
        aria-label="JSONL file"
      />
      <UploadIcon />
      {file ? (
        <span>
          <b>{file.name}</b> {bytes(file.size)}
        </span>
      ) : (
        <span>
          <b>Choose a JSONL file</b> or drop it here
        </span>
      )}
    </label>
  );
}
