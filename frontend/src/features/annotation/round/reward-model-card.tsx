import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { compareWith, progressQuery } from "@/api/annotation";
import type { RewardModelProgress, Round, RoundProgress } from "@/api/types";
import { checkpointsQuery } from "@/api/jobs";
import { InfoTip } from "@/components/info-tip";
import { ProgressBar } from "@/components/progress-bar";
import styles from "@/features/annotation/round/round.module.css";
import { checkpointLabel } from "@/lib/annotation/draft";
import { count, percent } from "@/lib/format";

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
  if (!model) return <p className={styles.note}>Choose one to see how often it agrees with these answers.</p>;
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

/** The reward models of the jobs whose policies are compared. */
function Choice({ round, chosen }: { round: Round; chosen: string | null }) {
  const client = useQueryClient();
  const job = round.policies?.find((policy) => policy.job)?.job ?? "";
  const query = useQuery({ ...checkpointsQuery(job), enabled: job !== "" });
  const models = query.data?.filter((one) => one.stage === "reward_model") ?? [];
  const score = useMutation({
    mutationFn: (checkpoint: string) => compareWith(round.id, checkpoint),
    onSuccess: (progress) => client.setQueryData(progressQuery(round.id).queryKey, progress),
  });
  const known = chosen !== null && models.some((one) => one.id === chosen);
  const ask = (value: string) => {
    if (value) score.mutate(value);
  };
  return (
    <>
      <select aria-label="Reward model" value={chosen ?? ""} onChange={(event) => ask(event.target.value)}>
        <option value="" disabled>
          {models.length ? "Choose a reward model…" : "No reward model at hand"}
        </option>
        {chosen !== null && !known && <option value={chosen}>{chosen}</option>}
        {models.map((one) => (
          <option key={one.id} value={one.id}>
            {checkpointLabel(one)}
          </option>
        ))}
      </select>
      {score.error && (
        <p className={styles.error} role="alert">
          {score.error.message}
        </p>
      )}
    </>
  );
}
