import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { Button } from "@/components/button";
import { Card, Note } from "@/components/card";
import { loadable } from "@/components/loadable";
import { Fact, Facts } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { jobQuery } from "@/features/jobs/api";
import { changeNotes } from "@/features/run/api-tabs";
import { Lineage } from "@/features/run/ui/lineage";
import { LONGEST } from "@/lib/api/fields.gen";
import type { Job } from "@/lib/api/types";
import { useReadOnly } from "@/lib/read-only";
import styles from "./about.module.css";

const Markdown = loadable(async () => (await import("@/components/markdown")).Markdown);

/** Notes, origin and metadata of a job: what no run depends on. */
export function AboutTab({ job }: { job: Job }) {
  const metadata = Object.entries(job.metadata);
  return (
    <div className={styles.about}>
      <Notes job={job} />
      <Card title="Lineage">
        <Lineage job={job} />
      </Card>
      {metadata.length > 0 && (
        <Card title="Metadata">
          <Facts as="dl">
            {metadata.map(([key, value]) => (
              <Fact key={key} name={key}>
                {value}
              </Fact>
            ))}
          </Facts>
        </Card>
      )}
    </div>
  );
}

function Notes({ job }: { job: Job }) {
  /** The text that is edited; null while the notes are only shown. */
  const [draft, setDraft] = useState<string | null>(null);
  const client = useQueryClient();
  const readOnly = useReadOnly();
  const save = useMutation({
    mutationFn: (notes: string) => changeNotes(job.id, notes),
    onSuccess: (updated) => {
      client.setQueryData(jobQuery(job.id).queryKey, updated);
      setDraft(null);
    },
  });
  if (draft === null || readOnly) {
    return (
      <Card title="Notes">
        {job.notes ? (
          <Suspense fallback={<Skeleton rows={3} />}>
            <Markdown text={job.notes} />
          </Suspense>
        ) : (
          <Note>There are no notes.{!readOnly && " Write down why this run was made and what it showed."}</Note>
        )}
        {!readOnly && (
          <div>
            <Button onClick={() => setDraft(job.notes)}>{job.notes ? "Edit the notes" : "Write notes"}</Button>
          </div>
        )}
      </Card>
    );
  }
  return (
    <Card title="Notes">
      <textarea
        aria-label="Notes in Markdown"
        rows={10}
        maxLength={LONGEST.jobNotes}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save.mutate(draft);
        }}
        autoFocus
      />
      <Note>Markdown. Ctrl and Enter save.</Note>
      {save.error && <p role="alert">{save.error.message}</p>}
      <div className={styles.buttons}>
        <Button look="primary" onClick={() => save.mutate(draft)} busy={save.isPending}>
          {save.isPending ? "Saving…" : "Save"}
        </Button>
        <Button onClick={() => setDraft(null)}>Discard</Button>
      </div>
    </Card>
  );
}
