import type { Sides } from "@/features/run/model/spec";
import { measured, percent } from "@/lib/format";
import styles from "./results.module.css";

type Summary = Readonly<Record<string, number>>;

const PAIRS = [
  { label: "Judge", before: "judge_before", after: "judge_after" },
  { label: "Score", before: "score_before", after: "score_after" },
  { label: "Length in tokens", before: "length_before", after: "length_after" },
  { label: "Finished share", before: "eos_rate_before", after: "eos_rate_after" },
];

/** Before and after, figure by figure. */
export function Comparison({ summary, sides }: { summary: Summary; sides: Sides }) {
  const pairs = PAIRS.filter(({ before, after }) => summary[before] !== undefined && summary[after] !== undefined);
  return (
    <section className={styles.card} aria-label="Before and after">
      <h2>Mean over the held-out prompts</h2>
      <table className={styles.pairs}>
        <thead>
          <tr>
            <td />
            <th scope="col">{sides.before}</th>
            <th scope="col">{sides.after}</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {pairs.map(({ label, before, after }) => (
            <Pair key={label} label={label} before={summary[before] ?? NaN} after={summary[after] ?? NaN} />
          ))}
        </tbody>
      </table>
      <p className={styles.note}>
        {summary.kl !== undefined && `KL to the policy as it began ${measured(summary.kl)} nats per response.`}
        {summary.reward_model_accuracy !== undefined &&
          ` The reward model agrees with ${percent(summary.reward_model_accuracy, 1)} of the held-out labels.`}
      </p>
    </section>
  );
}

function Pair({ label, before, after }: { label: string; before: number; after: number }) {
  const change = after - before;
  return (
    <tr>
      <th scope="row">{label}</th>
      <td>{measured(before)}</td>
      <td>{measured(after)}</td>
      <td>{`${change > 0 ? "+" : ""}${measured(change)}`}</td>
    </tr>
  );
}
