import { useQuery } from "@tanstack/react-query";
import { Card, Note } from "@/components/card";
import { Notice } from "@/components/notice";
import { Table } from "@/components/table";
import { Prose } from "@/components/text";
import { Pending, StepPicker } from "@/features/completions/ui";
import { cardQuery } from "@/features/critic/api";
import { type CriticCard, figuresOf, verdictOf } from "@/features/critic/model/card";
import { BarTable } from "@/features/critic/ui/bar-table";
import { CalibrationPlot } from "@/features/critic/ui/calibration-plot";
import { WorstTokens } from "@/features/critic/ui/worst-tokens";
import { useParameter } from "@/lib/address";
import { count, measured, percent } from "@/lib/format";
import styles from "./critic.module.css";

interface CriticTabProps {
  jobId: string;
  /** One seed of a job with several; null for a job with one. */
  seed: number | null;
  /** The steps that have a card, ascending. */
  steps: readonly number[];
  /** Completions of each step that are logged, from the first response of the batch on. */
  logged: number;
  /** Whether more may come. */
  waiting: boolean;
}

/** How good the critic was in one iteration. */
export function CriticTab({ jobId, seed, steps, logged, waiting }: CriticTabProps) {
  const [named, setStep] = useParameter("step");
  const chosen = named === null ? null : Number(named);
  const step = (chosen !== null && steps.findLast((one) => one <= chosen)) || (steps.at(-1) ?? 0);
  const query = useQuery({ ...cardQuery(jobId, seed, step), enabled: steps.length > 0 });
  if (!steps.length)
    return (
      <Notice title={waiting ? "No critic card yet" : "No critic card"}>
        <p>
          {waiting
            ? "It appears with the first iteration of PPO."
            : "No iteration of PPO reported one. Runs of older versions have none."}
        </p>
      </Notice>
    );
  return (
    <>
      <StepPicker
        steps={steps}
        step={step}
        things="critic card"
        chooser={{ place: { step: chosen }, choose: (to) => setStep(to.step === null ? null : String(to.step)) }}
      />
      {query.data ? (
        <CardOf card={query.data} step={step} logged={logged} />
      ) : query.data === null ? (
        <Notice title={`Step ${step} has no critic card`}>
          <p>Its values or returns were not finite, or it ran with an older version.</p>
        </Notice>
      ) : (
        <Pending query={query} />
      )}
    </>
  );
}

function CardOf({ card, step, logged }: { card: CriticCard; step: number; logged: number }) {
  const verdict = verdictOf(card);
  return (
    <div className={styles.page}>
      <Card className={styles[verdict.tone] ?? ""} title={verdict.title} aria-label="Critic in plain words">
        <ul className={styles.points}>
          {verdict.points.map((point) => (
            <li key={point}>
              <Prose text={point} />
            </li>
          ))}
        </ul>
        <dl className={styles.figures}>
          {figuresOf(card).map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <Note>{`${count(card.responses, "response")}, ${count(card.tokens, "token")}, before the critic learned from them.`}</Note>
      </Card>
      <div className={styles.grid}>
        <Card title="Calibration">
          <Note>Tokens in bins by value. On the line, the returns are what the critic expects.</Note>
          <CalibrationPlot bins={card.calibration} />
        </Card>
        <ByPosition card={card} />
        <ByLength card={card} />
        <Card title="TD error by position">
          <Note>How far a value jumps from one token to the next without a reward that explains it: mean |δ|.</Note>
          <BarTable
            label="TD error by position"
            head={["Part of the response", "Mean |δ|"]}
            ends={{ least: [0, card.returns_std] }}
            rows={card.by_position.map((part) => ({
              name: partName(part),
              value: part.td_error,
              text: measured(part.td_error),
            }))}
          />
        </Card>
      </div>
      <WorstTokens tokens={card.worst} step={step} logged={logged} />
      <Explanation />
    </div>
  );
}

const partName = ({ low, high }: { low: number; high: number }) => `${percent(low)} to ${percent(high)}`;

function ByPosition({ card }: { card: CriticCard }) {
  return (
    <Card title="Explained variance by position">
      <Note>
        Share of the variance of the returns that the critic foresees, by the part of the response that a token lies in.
      </Note>
      <BarTable
        label="Explained variance by position"
        head={["Part of the response", "Explained"]}
        ends={{ least: [0, 1], most: [-1, 1] }}
        rows={card.by_position.map((part) => ({
          name: partName(part),
          value: part.explained_variance,
          text: percent(part.explained_variance),
        }))}
      />
    </Card>
  );
}

function ByLength({ card }: { card: CriticCard }) {
  return (
    <Card title="Bias by length">
      <Note>
        Mean value less mean return of the responses of a length. To the right, the critic overrates them. The scale
        reaches a standard deviation of the returns at least.
      </Note>
      <BarTable
        label="Bias by length"
        head={["Tokens", "Bias"]}
        ends={{ least: [-card.returns_std, card.returns_std] }}
        rows={card.by_length.map(({ low, high, responses, value, returns }) => ({
          name: low === high ? String(low) : `${low} to ${high}`,
          detail: count(responses, "response"),
          value: value - returns,
          text: measured(value - returns),
        }))}
      />
    </Card>
  );
}

function Explanation() {
  return (
    <details>
      <summary>How to read this</summary>
      <div className={styles.explanation}>
        <p>
          A value is what the critic expects before a token: the rewards from there on. The return is what came. Both
          are compared before the critic learned from the batch, so the card shows what the critic foresaw.
        </p>
        <Table label="Figures of the card" look="plain" head={["Figure", "Meaning"]}>
          {MEANINGS.map(([name, meaning]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className={styles.meaning}>{meaning}</td>
            </tr>
          ))}
        </Table>
      </div>
    </details>
  );
}

const MEANINGS = [
  [
    "Skill",
    "Share of the squared error of the mean return that the critic avoids. Below 0 the mean return is a better guess.",
  ],
  ["Explained variance", "The same without a constant bias: how well it sees the differences."],
  ["Variance removed", "How much less the advantages vary than with a critic that gives every state the mean return."],
  [
    "Rank correlation",
    "Spearman's ρ between the values at a token and the scores of the responses: 1 is the same order.",
  ],
  ["Calibration error", "Mean distance of value and return over the bins, in units of the score."],
] as const;
