import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { toast } from "@/components/toast";
import { changeJob, isOutdated, readJob } from "@/features/job-actions/api";
import { metadataPatch, metadataText, tagsOf } from "@/features/job-actions/model/description";
import { Refusal } from "@/features/job-actions/ui/dialogs";
import { useStored } from "@/features/job-actions/ui/use-actions";
import { LONGEST } from "@/lib/api/fields.gen";
import type { Job } from "@/lib/api/types";
import { hasEnded } from "@/lib/states";
import styles from "./actions.module.css";

/** The description of a job for people and programs. No run depends on it. */
export function EditForm({ job, onClose }: { job: Job; onClose: () => void }) {
  const [name, setName] = useState(job.name);
  const [tags, setTags] = useState(job.tags.join(", "));
  const [notes, setNotes] = useState(job.notes);
  const [metadata, setMetadata] = useState(metadataText(job.metadata));
  const [preemptible, setPreemptible] = useState(job.preemptible);
  const [problem, setProblem] = useState("");
  const [etag, setEtag] = useState(job.etag);
  const store = useStored();
  const save = useMutation({
    mutationFn: (patch: Record<string, string | null>) =>
      changeJob(job.id, { name: name.trim(), tags: tagsOf(tags), notes, metadata: patch, preemptible }, etag),
    onError: async (error) => {
      if (isOutdated(error)) setEtag((await readJob(job.id)).etag);
    },
    onSuccess: (updated) => {
      store(updated);
      toast("The description is saved.");
      onClose();
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    try {
      const patch = metadataPatch(job.metadata, metadata);
      setProblem("");
      save.mutate(patch);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <label className={styles.field}>
        <span>Name</span>
        <input type="text" maxLength={LONGEST.jobName} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label className={styles.field}>
        <span>Tags</span>
        <input type="text" value={tags} onChange={(event) => setTags(event.target.value)} />
        <small>Separate them with commas.</small>
      </label>
      <label className={styles.field}>
        <span>Notes</span>
        <textarea
          rows={5}
          maxLength={LONGEST.jobNotes}
          value={notes}
          onChange={(event) => setNotes(event.target.value)}
        />
        <small>Markdown</small>
      </label>
      <label className={styles.field}>
        <span>Metadata</span>
        <textarea
          rows={3}
          spellCheck={false}
          value={metadata}
          aria-invalid={problem !== ""}
          onChange={(event) => setMetadata(event.target.value)}
        />
        <small role={problem ? "alert" : undefined}>
          {problem || "One line for each key, such as `paper = section 4`."}
        </small>
      </label>
      {!hasEnded(job.status) && (
        <label className={styles.check}>
          <input type="checkbox" checked={preemptible} onChange={(event) => setPreemptible(event.target.checked)} />
          May be paused for a more urgent job
        </label>
      )}
      {isOutdated(save.error) ? (
        <p role="alert">
          The description was changed elsewhere since you opened this form. Save again to replace it, or close the form
          to see it.
        </p>
      ) : (
        <Refusal error={save.error} />
      )}
      <div className={styles.buttons}>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" look="primary" busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
