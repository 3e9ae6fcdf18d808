import { queryOptions } from "@tanstack/react-query";
import { addressOf } from "@/features/completions/model/place";
import type { Row } from "@/features/completions/model/rows";
import { jobsKey } from "@/features/jobs/api";
import { accepted, answer, api } from "@/lib/api/client";
import type { SampleNote } from "@/lib/api/types";

const PAGE = 100;

/** All notes on completions of a job, newest first. A job has at most 1000. */
export const notesQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...jobsKey, jobId, "samples", "notes"],
    queryFn: async ({ signal }) => {
      const notes: SampleNote[] = [];
      const next = async (after: string | null) => {
        const params = { path: { job_id: jobId }, query: { limit: PAGE, after } };
        const page = await answer(api.GET("/v1/jobs/{job_id}/samples/notes", { params, signal }));
        notes.push(...page.data);
        return page.has_more ? page.last_id : null;
      };
      let after = await next(null);
      while (after !== null) after = await next(after);
      return notes;
    },
    staleTime: 60_000,
  });

/** A completion of a job, and the response that the author of a note has read. */
export interface Noted {
  readonly jobId: string;
  readonly seed: number | null;
  readonly row: Row;
  readonly response: string;
}

export const writeNote = ({ jobId, seed, row, response }: Noted, text: string, author: string | null) => {
  const path = { job_id: jobId, sample: addressOf(row.stage, row.step, row.index) };
  const body = { text, author, response };
  return answer(api.PUT("/v1/jobs/{job_id}/samples/{sample}/note", { params: { path, query: { seed } }, body }));
};

export const deleteNote = (jobId: string, id: string) =>
  accepted(
    api.DELETE("/v1/jobs/{job_id}/samples/notes/{note_id}", { params: { path: { job_id: jobId, note_id: id } } }),
  );
