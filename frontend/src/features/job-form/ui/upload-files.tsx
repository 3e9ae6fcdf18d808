import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { uploadDataset } from "@/features/datasets/api/upload-dataset";
import { fileName, type LocalFile, localFiles, withDatasets } from "@/features/job-form/model/local-files";
import { labelOf } from "@/features/job-form/model/schema";
import type { JsonObject } from "@/features/job-form/model/spec";
import styles from "./form.module.css";

interface UploadFilesProps {
  spec: JsonObject;
  /** Gets the spec with the ids of the datasets in place of the files that were uploaded. */
  onSpec: (spec: JsonObject) => void;
}

/** Offers to upload the files that an imported spec names in place of datasets. */
export function UploadFiles({ spec, onSpec }: UploadFilesProps) {
  const named = localFiles(spec);
  const [chosen, setChosen] = useState<Readonly<Record<string, File>>>({});
  const [progress, setProgress] = useState("");
  /** The datasets made so far: another try after an error uploads the rest alone. */
  const done = useRef<Record<string, { file: File; id: string }>>({});
  const leaving = useRef<AbortController>(null);
  useEffect(() => () => leaving.current?.abort(), []);
  const upload = useMutation({
    mutationFn: async () => {
      leaving.current = new AbortController();
      const { signal } = leaving.current;
      const ids: Record<string, string> = {};
      for (const { role, kind } of named) {
        const file = chosen[role];
        if (!file) continue;
        const onProgress = (text: string) => setProgress(`${labelOf(role)}: ${text}`);
        onProgress("");
        if (done.current[role]?.file !== file)
          done.current[role] = { file, id: await uploadDataset(file, { name: file.name, kind, onProgress, signal }) };
        ids[role] = done.current[role].id;
      }
      return withDatasets(spec, ids);
    },
  });
  return (
    <form
      className={styles.dialog}
      onSubmit={(event) => {
        event.preventDefault();
        upload.mutate(undefined, { onSuccess: onSpec });
      }}
    >
      <Note>The spec names files, and a job here needs datasets. Choose the files, and they are uploaded.</Note>
      {named.map((one) => (
        <FileField
          key={one.role}
          {...one}
          disabled={upload.isPending}
          onChoose={(file) => setChosen((before) => ({ ...before, [one.role]: file }))}
        />
      ))}
      <p role="status">{upload.isPending && `Uploading… ${progress}`}</p>
      {upload.error && (
        <p className={styles.blocking} role="alert">
          {progress.split(":")[0]} was not uploaded: {upload.error.message}
        </p>
      )}
      <div className={styles.actions}>
        <Button disabled={upload.isPending} onClick={() => onSpec(spec)}>
          Import without them
        </Button>
        <Button type="submit" look="primary" disabled={!Object.keys(chosen).length || upload.isPending}>
          Upload and import
        </Button>
      </div>
    </form>
  );
}

interface FileFieldProps extends LocalFile {
  disabled: boolean;
  onChoose: (file: File) => void;
}

function FileField({ role, file, disabled, onChoose }: FileFieldProps) {
  return (
    <label className={styles.leaf}>
      <span className={styles.name}>
        {labelOf(role)}: {fileName(file)}
      </span>
      <input
        type="file"
        disabled={disabled}
        onChange={({ target }) => {
          if (target.files?.[0]) onChoose(target.files[0]);
        }}
      />
    </label>
  );
}
