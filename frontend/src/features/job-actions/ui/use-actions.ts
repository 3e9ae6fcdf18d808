import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "@/components/toast";
import { requestAction } from "@/features/job-actions/api";
import { ACTIONS, type DirectAction } from "@/features/job-actions/model/menu";
import { jobQuery, jobsKey } from "@/features/jobs/api";
import type { Job, JobSummary } from "@/lib/api/types";

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
    mutationFn: (action: DirectAction) => requestAction(job.id, action),
    onSuccess: (updated, action) => {
      store(updated);
      const { done, undo: back }: { done: string; undo?: DirectAction } = ACTIONS[action];
      toast(done, back ? { undo: () => act.mutate(back) } : {});
    },
    onError: (error) => {
      toast(error.message, { tone: "bad" });
      // The state has changed since it was shown.
      void client.invalidateQueries({ queryKey: jobsKey });
    },
  });
  return act;
}
