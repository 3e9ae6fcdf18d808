import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { InfoTip } from "@/components/info-tip";
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
    <section className={styles.card} aria-label="Reward model">
      <h2>
        Reward model{" "}
        <InfoTip label="About: Reward model">
          The share of answers, ties and skips aside, in which the reward model scores the preferred completion higher.
          One half is chance. Much less than on the data that it was fitted to means that the policy has left what the
          model knows: fit it again with these answers.
        </InfoTip>
      </h2>
      <Standing model={model} />
      <Choice round={round} chosen={model?.checkpoint ?? null} />
    </section>
  );
}

function Standing({ model }: { model: RewardModelProgress | null }) {
  if (!model) return <p className={styles.note}>How often does one agree with these answers?</p>;
  if (model.status === "failed") return <p className={styles.error}>{model.error?.message}</p>;
  if (model.status !== "done") {
    return (
      <div role="status">
        <p className={styles.note}>{model.progress?.note ?? "Waiting for a worker…"}</p>
        <ProgressBar fraction={model.progress?.fraction ?? 0} label="Scoring" />
      </div>
    );
  }
  const { agree, of, low, high } = model;
  if (of === 0) return <p className={styles.note}>It has scored the items; nobody has preferred one yet.</p>;
  return (
    <>
      <p className={styles.figure}>{percent(agree / of)}</p>
      <p className={styles.note}>
        agrees with {agree} of {count(of, "answer")}
        {low !== null && high !== null && `, 95 % interval ${percent(low)} to ${percent(high)}`}.
      </p>
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
