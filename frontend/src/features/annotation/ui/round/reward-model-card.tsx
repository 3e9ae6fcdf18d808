import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Card, Note } from "@/components/card";
import { InfoTip } from "@/components/popover";
import { ProgressBar } from "@/components/status";
import { compareWith, progressQuery } from "@/features/annotation/api";
import { CheckpointSelect } from "@/features/annotation/ui/create/selects";
import { jobQuery } from "@/features/jobs/api";
import type { RewardModelProgress, Round, RoundProgress } from "@/lib/api/types";
import { count, percent } from "@/lib/format";
import styles from "./round.module.css";

/** How often the reward model prefers what people prefer: when it stops doing so, it is being exploited. */
export function RewardModelCard({ round, progress }: { round: Round; progress: RoundProgress }) {
  const model = progress.reward_model;
  return (
    <Card
      aria-label="Reward model"
      title="Reward model"
      beside={
        <InfoTip label="About: Reward model">
          The share of answers, ties and skips aside, in which the reward model scores the preferred completion higher.
          One half is chance. A much lower share than on its training data means that the policy has left the range
          where the model is reliable. Fit it again with these answers.
        </InfoTip>
      }
    >
      <Standing model={model} />
      <Choice round={round} chosen={model?.checkpoint ?? null} />
    </Card>
  );
}

function Standing({ model }: { model: RewardModelProgress | null }) {
  if (!model) return <Note>How often does one agree with these answers?</Note>;
  if (model.status === "failed") return <p className={styles.error}>{model.error?.message}</p>;
  if (model.status !== "succeeded") {
    return (
      <div role="status">
        <Note>{model.progress?.note ?? "Waiting for a worker…"}</Note>
        <ProgressBar fraction={model.progress?.fraction ?? 0} label="Scoring" />
      </div>
    );
  }
  const { agree, of, low, high } = model;
  if (of === 0) return <Note>It has scored the items. No annotator has preferred one yet.</Note>;
  return (
    <>
      <p className={styles.figure}>{percent(agree / of)}</p>
      <Note>
        agrees with {agree} of {count(of, "answer")}
        {low !== null && high !== null && `, 95 % interval ${percent(low)} to ${percent(high)}`}.
      </Note>
    </>
  );
}

/** Another one may be chosen at any time; the job that wrote the completions is looked at first. */
function Choice({ round, chosen }: { round: Round; chosen: string | null }) {
  const client = useQueryClient();
  const jobId = round.policies?.find((policy) => policy.job)?.job ?? "";
  const job = useQuery({ ...jobQuery(jobId), enabled: jobId !== "" }).data;
  const [picked, setPicked] = useState("");
  const score = useMutation({
    mutationFn: (checkpoint: string) => compareWith(round.id, checkpoint),
    onSuccess: (progress) => client.setQueryData(progressQuery(round.id).queryKey, progress),
  });
  return (
    <details open={chosen === null}>
      <summary>{chosen === null ? "Choose a reward model" : "Choose another one"}</summary>
      <div className={styles.choice}>
        <CheckpointSelect
          key={job?.id}
          label="Reward model"
          what="reward_model"
          job={job}
          value={picked}
          onChange={setPicked}
        />
        <Button onClick={() => score.mutate(picked)} disabled={!picked || picked === chosen || score.isPending}>
          Compare
        </Button>
        {score.error && (
          <p className={styles.error} role="alert">
            {score.error.message}
          </p>
        )}
      </div>
    </details>
  );
}
