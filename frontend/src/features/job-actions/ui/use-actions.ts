import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "@/components/toast";
import { archiveJob, pauseJob, resumeJob, retryJob, unarchiveJob } from "@/features/job-actions/api";
import { jobQuery, jobsKey } from "@/features/jobs/api";
import type { Job, JobSummary } from "@/lib/api/types";

const REQUESTS = {
  pause: pauseJob,
  resume: resumeJob,
  retry: retryJob,
  archive: archiveJob,
  unarchive: unarchiveJob,
};
export type DirectAction = keyof typeof REQUESTS;

const DONE: Record<DirectAction, string> = {
  pause: "The job pauses after its present step.",
  resume: "The job is queued again.",
  retry: "The job is queued again. It continues from its last checkpoint.",
  archive: "The job is archived.",
  unarchive: "The job is back in the list.",
};
const UNDO: Partial<Record<DirectAction, DirectAction>> = { archive: "unarchive", unarchive: "archive" };

export const isDirect = (action: string): action is DirectAction => action in REQUESTS;

/** Stores the answer of a request, and fetches the lists anew. */
export function useStored(): (updated: Job) => void {
  const client = useQueryClient();
  return (updated) => {
    client.setQueryData(jobQuery(updated.id).queryKey, updated);
    void client.invalidateQueries({ queryKey: jobsKey });
  };
}

/** The actions that need no question, each reported by a message. A refusal shows the server's reason. */
export function useDirectAction(job: JobSummary) {
  const store = useStored();
  const client = useQueryClient();
  const act = useMutation({
    mutationFn: (action: DirectAction) => REQUESTS[action](job.id),
    onSuccess: (updated, action) => {
      store(updated);
      const back = UNDO[action];
      toast(DONE[action], back ? { undo: () => act.mutate(back) } : {});
    },
    onError: (error) => {
      toast(error.message, { tone: "bad" });
      // The state has changed since it was shown.
      void client.invalidateQueries({ queryKey: jobsKey });
    },
  });
  return act;
}
