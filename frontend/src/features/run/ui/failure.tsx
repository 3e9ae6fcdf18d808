import { useQuery } from "@tanstack/react-query";
import { Notice } from "@/components/notice";
import { Prose } from "@/components/prose";
import { checkpointDownload, checkpointsQuery } from "@/features/jobs/api";
import type { Job } from "@/lib/api/types";
import { stageShort } from "@/lib/stages";

/** Why a job failed, and what it leaves. */
export function Failure({ job }: { job: Job }) {
  const checkpoints = useQuery(checkpointsQuery(job.id));
  const last = checkpoints.data?.[0];
  return (
    <div style={{ marginBottom: "1rem" }}>
      <Notice
        tone="bad"
        title={`Failed${job.stage ? ` in ${stageShort(job.stage)}` : ""}${job.error ? `: ${job.error.code}` : ""}`}
      >
        <p style={{ whiteSpace: "pre-wrap" }}>
          <Prose text={job.error?.message ?? job.status_reason} />
        </p>
        {last && (
          <p>
            Its last good checkpoint is kept: {stageShort(last.stage)} step {last.step},{" "}
            <a href={checkpointDownload(last.id)} download>
              download it
            </a>
            .
          </p>
        )}
        {checkpoints.data && !last && <p>It failed before its first checkpoint, so there is nothing to keep.</p>}
      </Notice>
    </div>
  );
}
