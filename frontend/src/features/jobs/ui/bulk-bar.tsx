import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { toast } from "@/components/toast";
import { addTag, archiveJob, cancelJob, deleteJob, unarchiveJob } from "@/features/job-actions/api";
import { jobsKey } from "@/features/jobs/api";
import { type Failure, forEach } from "@/features/jobs/model/bulk";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./jobs.module.css";

type Action = "cancel" | "archive" | "unarchive" | "delete" | "tag";

interface BulkBarProps {
  jobs: readonly JobSummary[];
  /** Leaves only these jobs selected. */
  onSelect: (ids: readonly string[]) => void;
}

const DONE: Record<Action, string> = {
  cancel: "asked to stop",
  archive: "archived",
  unarchive: "back in the list",
  delete: "deleted",
  tag: "tagged",
};

/** Actions on the selected jobs together. A job whose state does not allow it is refused with its reason. */
export function BulkBar({ jobs, onSelect }: BulkBarProps) {
  const client = useQueryClient();
  const [question, setQuestion] = useState<"cancel" | "delete" | null>(null);
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const [tag, setTag] = useState("");
  const request = (action: Action) => (id: string) => {
    if (action === "cancel") return cancelJob(id);
    if (action === "archive") return archiveJob(id);
    if (action === "unarchive") return unarchiveJob(id);
    if (action === "delete") return deleteJob(id);
    const job = jobs.find((one) => one.id === id);
    return job ? addTag(job, tag.trim()) : Promise.resolve();
  };
  const refresh = () => void client.invalidateQueries({ queryKey: jobsKey });
  const undo = async (action: "archive" | "unarchive", ids: readonly string[]) => {
    const done = jobs.filter(({ id }) => ids.includes(id));
    const { failed } = await forEach(done, action === "archive" ? unarchiveJob : archiveJob);
    for (const { name, reason } of failed) toast(`${name}: ${reason}`, { tone: "bad" });
    refresh();
  };
  const act = useMutation({
    mutationFn: (action: Action) => forEach(jobs, request(action)),
    onSuccess: ({ done, failed }, action) => {
      setFailures(failed);
      if (action === "tag" && done.length) setTag("");
      if (action === "delete" || action === "archive" || action === "unarchive")
        onSelect(jobs.map((job) => job.id).filter((id) => !done.includes(id)));
      const undone = action === "archive" || action === "unarchive" ? { undo: () => void undo(action, done) } : {};
      if (done.length) toast(`${count(done.length, "job")} ${DONE[action]}.`, undone);
      refresh();
    },
  });
  const run = (action: Action) => {
    setQuestion(null);
    act.mutate(action);
  };
  if (!jobs.length) return null;
  const archived = jobs.every((job) => job.archived_at !== null);
  return (
    <section className={styles.bulk} aria-label="Selected jobs">
      <b role="status">{count(jobs.length, "job")} selected</b>
      {jobs.length > 1 && (
        <Link className={buttonClass()} to={paths.compare(jobs.map((job) => job.id))}>
          Compare
        </Link>
      )}
      <Button busy={act.isPending} onClick={() => setQuestion("cancel")}>
        Cancel
      </Button>
      <Button busy={act.isPending} onClick={() => run(archived ? "unarchive" : "archive")}>
        {archived ? "Unarchive" : "Archive"}
      </Button>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run("tag");
        }}
      >
        <input
          type="text"
          aria-label="Tag for the selected jobs"
          placeholder="Tag"
          value={tag}
          onChange={(event) => setTag(event.target.value)}
        />
        <Button type="submit" disabled={act.isPending || !tag.trim()}>
          Add tag
        </Button>
      </form>
      <Button look="danger" busy={act.isPending} onClick={() => setQuestion("delete")}>
        Delete
      </Button>
      <Button
        look="quiet"
        onClick={() => {
          setFailures([]);
          onSelect([]);
        }}
      >
        Select none
      </Button>
      {failures.length > 0 && (
        <div role="alert">
          <ul>
            {failures.map(({ name, reason }, index) => (
              <li key={index}>
                {name}: {reason}
              </li>
            ))}
          </ul>
        </div>
      )}
      <ConfirmDialog
        open={question !== null}
        title={question === "delete" ? `Delete ${count(jobs.length, "job")}?` : `Cancel ${count(jobs.length, "job")}?`}
        confirm={question === "delete" ? "Delete" : "Cancel the jobs"}
        keep="Keep the jobs"
        onClose={() => setQuestion(null)}
        onConfirm={() => run(question ?? "cancel")}
      >
        <p>
          {question === "delete"
            ? "Their metrics, completions and checkpoints are deleted with them. This cannot be undone."
            : "Jobs that run stop after their present step. Finished jobs stay as they are."}
        </p>
      </ConfirmDialog>
    </section>
  );
}
