import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { FrontierPlot } from "@/charts/frontier-plot";
import { Card, Note } from "@/components/card";
import { Notice } from "@/components/notice";
import { Table } from "@/components/table";
import { Prose } from "@/components/text";
import { BestCheckpoint, Verdict } from "@/features/completions/ui/verdict";
import { canBranch, checkpointsQuery } from "@/features/jobs/api";
import type { JobEvent } from "@/lib/api/types";
import { bestCheckpointOf, policiesOf } from "@/lib/best-checkpoint";
import { type Evaluation, evaluationsOf, panelsOf } from "@/lib/evaluations";
import { measured, percent } from "@/lib/format";
import styles from "./over-optimisation.module.css";

interface OverOptimisationProps {
  jobId: string;
  /** One seed of a job with several; null for a job with one. */
  seed: number | null;
  /** The metrics of PPO by name. */
  series: Readonly<Record<string, { readonly steps: readonly number[]; readonly values: readonly number[] }>>;
  /** The figures of PPO and of the evaluation stage, as far as they have ended. */
  summary: Readonly<Record<string, number>>;
  log: readonly JobEvent[];
  judged: boolean;
  waiting: boolean;
}

/** Score and judge over the distance from the policy before PPO (Gao et al. 2022). */
export function OverOptimisation({ jobId, seed, series, summary, log, judged, waiting }: OverOptimisationProps) {
  const own = policiesOf(useQuery(checkpointsQuery(jobId)).data ?? [], seed);
  const points = evaluationsOf(series, log);
  const [chosen, setChosen] = useState<number | null>(null);
  if (points.length < 2) {
    return (
      <Notice title={waiting ? "Not enough evaluations yet" : "Not enough evaluations"}>
        <p>
          <Prose text="The plot needs two evaluations of PPO on held-out prompts. `ppo.eval_every` sets how often they are made." />
        </p>
      </Notice>
    );
  }
  const kept = own.find((one) => one.best);
  const best = bestCheckpointOf(series, summary, kept?.step);
  const saved = new Set(own.map((one) => one.step));
  const at = Math.min(chosen ?? points.length - 1, points.length - 1);
  return (
    <div className={styles.page}>
      <Verdict points={points} judged={judged} best={best?.step ?? null} />
      {best && (
        <BestCheckpoint
          jobId={jobId}
          best={best}
          checkpoint={kept?.step === best.step ? kept : own.find((one) => one.step === best.step)}
          resumable={own.find((one) => one.step === best.step && canBranch(one))}
        />
      )}
      <Card title="Score and judge by distance from the start">
        <Note>
          Each point is an evaluation on held-out prompts, in the order of the steps. To the right, the policy is
          further from the one before PPO.
        </Note>
        <div className={styles.panels}>
          {panelsOf(points).map((panel) => (
            <FrontierPlot
              key={panel.id}
              {...panel}
              lines={[
                {
                  key: jobId,
                  label: panel.label,
                  colour: 0,
                  best: best?.step ?? null,
                  points: points.map((one) => ({
                    step: one.step,
                    x: one.sqrtKl,
                    y: one[panel.id],
                    saved: saved.has(one.step),
                  })),
                },
              ]}
              at={{ line: 0, point: at }}
              onPoint={({ point }) => setChosen(point)}
            />
          ))}
        </div>
        <ReadOut points={points} at={at} onPoint={setChosen} isSaved={saved.has(points[at]?.step ?? -1)} />
        <details>
          <summary>How to read this</summary>
          <Explanation judged={judged} />
        </details>
        <details>
          <summary>The numbers as a table</summary>
          <Numbers points={points} />
        </details>
      </Card>
    </div>
  );
}

interface ReadOutProps {
  points: readonly Evaluation[];
  at: number;
  onPoint: (at: number) => void;
  isSaved: boolean;
}

/** The chosen evaluation in numbers. The slider chooses it by keyboard. */
function ReadOut({ points, at, onPoint, isSaved }: ReadOutProps) {
  const point = points[at];
  if (!point) return null;
  const { step, sqrtKl, score, judge, winRate } = point;
  const text = [
    `step ${step}`,
    `√KL ${measured(sqrtKl)}`,
    score !== null && `score ${measured(score)}`,
    judge !== null && `judge ${measured(judge)}`,
    winRate !== null && `win rate ${percent(winRate, 1)}`,
    isSaved && "checkpoint",
  ].filter((part) => part !== false);
  return (
    <div className={styles.readout}>
      <input
        type="range"
        min={0}
        max={points.length - 1}
        value={at}
        aria-label="Evaluation"
        aria-valuetext={text.join(", ")}
        onChange={(event) => onPoint(event.target.valueAsNumber)}
      />
      <span>{text.join(" · ")}</span>
      <Link to={`?tab=completions&stage=ppo&step=${step}`}>Completions of step {step}</Link>
    </div>
  );
}

function Explanation({ judged }: { judged: boolean }) {
  return (
    <div className={styles.explanation}>
      <p>
        PPO raises the score of the rewards. Rewards are imperfect: a policy that moves far enough finds texts that
        score high and are not better. This is over-optimisation.
      </p>
      <p>
        The horizontal axis is √KL, the distance from the policy before PPO.{" "}
        {judged
          ? "The judge does not take part in the training. If it falls while the score still rises, the policy has gone too far."
          : "A judge that does not take part in the training would show where the policy has gone too far."}
      </p>
      <p>
        Source: Gao, Schulman and Hilton (2022), “Scaling Laws for Reward Model Overoptimization”,{" "}
        <a href="https://arxiv.org/abs/2210.10760" rel="noreferrer" target="_blank">
          arXiv:2210.10760
        </a>
        .
      </p>
    </div>
  );
}

function Numbers({ points }: { points: readonly Evaluation[] }) {
  return (
    <Table label="Evaluations" look="plain" head={["Step", "√KL", "Score", "Judge", "Win rate"]}>
      {points.map(({ step, sqrtKl, score, judge, winRate }) => (
        <tr key={step}>
          <th scope="row">{step}</th>
          <td>{measured(sqrtKl)}</td>
          <td>{measured(score)}</td>
          <td>{measured(judge)}</td>
          <td>{percent(winRate, 1)}</td>
        </tr>
      ))}
    </Table>
  );
}
