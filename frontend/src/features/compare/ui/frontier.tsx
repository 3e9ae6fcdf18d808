import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import type { FrontierPlace } from "@/charts/frontier";
import { FrontierPlot } from "@/charts/frontier-plot";
import { lineSample } from "@/charts/palette";
import { Table } from "@/components/table";
import { curveNames, curvesQuery } from "@/features/compare/api";
import type { Group } from "@/features/compare/model/differences";
import { bestIndex, type Frontier, frontiersOf, named } from "@/features/compare/model/frontiers";
import { RunName } from "@/features/compare/ui/tables";
import { paths } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { EVALUATION_METRICS } from "@/lib/evaluation-metrics";
import { type Evaluation, panelsOf } from "@/lib/evaluations";
import { measured, percent } from "@/lib/format";
import { metricReferenceQuery } from "@/lib/labels";
import { hasEnded, type Stage } from "@/lib/states";
import styles from "./compare.module.css";

interface FrontierProps {
  groups: readonly Group<Job>[];
  /** The stage whose curves are shown. */
  stage: Stage;
}

/** Score, judge and win rate of the runs over √KL to their start. Nothing is shown without two evaluations of PPO. */
export function FrontierSection({ groups, stage }: FrontierProps) {
  const { data: reference } = useQuery(metricReferenceQuery);
  // The evaluations are among the curves of PPO, which are fetched where they are shown.
  const names = stage === "ppo" ? curveNames(reference ?? [], stage) : EVALUATION_METRICS;
  const runs = useMemo(() => groups.flatMap((group) => group.runs), [groups]);
  const curves = useQueries({
    queries: runs.map((run) => ({
      ...curvesQuery(run.id, "ppo", names, !hasEnded(run.status)),
      enabled: reference !== undefined && run.spec.stages.includes("ppo"),
    })),
    combine: (results) => results.map(({ data }) => data),
  });
  const [at, setAt] = useState<FrontierPlace | null>(null);
  const found = useMemo(() => frontiersOf(groups, curves), [groups, curves]);
  if (!found.length) return null;
  const chosen = at && found[at.line] ? at : { line: 0, point: (found[0]?.points.length ?? 1) - 1 };
  return (
    <section aria-label="Frontier of score and KL">
      <h2>Frontier of score and KL</h2>
      <p className={styles.note}>
        Each point is an evaluation on held-out prompts. Higher at the same √KL is better. A diamond marks the best
        checkpoint of a run. Several runs of one kind have a line of means, and each has a best checkpoint of its own.
      </p>
      <div className={styles.panels}>
        {panelsOf(found.flatMap(({ points }) => points)).map((panel) => (
          <FrontierPlot
            key={panel.id}
            {...panel}
            at={chosen}
            onPoint={setAt}
            lines={found.map((one) => ({
              key: one.group.key,
              label: named(one),
              colour: one.colour,
              best: one.bestSteps.length === 1 ? (one.bestSteps[0] ?? null) : null,
              points: one.points.map((one) => ({ step: one.step, x: one.sqrtKl, y: one[panel.id], saved: false })),
            }))}
          />
        ))}
      </div>
      <ReadOut found={found} at={chosen} onPoint={setAt} />
      <details open={found.length <= 8}>
        <summary>The best checkpoints</summary>
        <BestTable found={found} onLine={(line) => setAt({ line, point: bestIndex(found[line]) })} />
      </details>
    </section>
  );
}

interface ReadOutProps {
  found: readonly Frontier[];
  at: FrontierPlace;
  onPoint: (at: FrontierPlace) => void;
}

/** The chosen evaluation in numbers. The list and the slider choose it by keyboard. */
function ReadOut({ found, at, onPoint }: ReadOutProps) {
  const line = found[at.line];
  const point = line?.points[at.point];
  if (!line || !point) return null;
  const run = line.group.runs.length === 1 ? line.group.runs[0] : undefined;
  const text = `step ${point.step} · √KL ${measured(point.sqrtKl)}${figures(point)}`;
  return (
    <div className={styles.readout}>
      <i style={{ background: lineSample(line.colour) }} aria-hidden />
      <select
        aria-label="Run"
        value={at.line}
        onChange={({ target }) =>
          onPoint({ line: Number(target.value), point: bestIndex(found[Number(target.value)]) })
        }
      >
        {found.map((one, index) => (
          <option key={one.group.key} value={index}>
            {named(one)}
          </option>
        ))}
      </select>
      <input
        type="range"
        min={0}
        max={line.points.length - 1}
        value={at.point}
        aria-label="Evaluation"
        aria-valuetext={text}
        onChange={(event) => onPoint({ ...at, point: event.target.valueAsNumber })}
      />
      <span>{text}</span>
      {run && <Link to={`${paths.job(run.id)}?tab=completions&stage=ppo&step=${point.step}`}>Its completions</Link>}
    </div>
  );
}

const figures = ({ score, judge, winRate }: Evaluation): string =>
  [
    score !== null && ` · score ${measured(score)}`,
    judge !== null && ` · judge ${measured(judge)}`,
    winRate !== null && ` · win rate ${percent(winRate, 1)}`,
  ]
    .filter(Boolean)
    .join("");

function BestTable({ found, onLine }: { found: readonly Frontier[]; onLine: (line: number) => void }) {
  return (
    <Table
      label="Evaluations"
      look="plain"
      sticky
      head={["Run", "Best step", "√KL", "Score", "Judge", "Win rate"]}
      className={styles.figures}
    >
      {found.map(({ group, colour, best, bestSteps, n }, index) => (
        <tr key={group.key} onPointerEnter={() => onLine(index)}>
          <th scope="row">
            <LineName group={group} colour={colour} />
            {n > 1 && ` mean of ${n}`}
          </th>
          <td>{bestSteps.length ? bestSteps.join(", ") : measured(null)}</td>
          <td>{measured(best?.sqrtKl)}</td>
          <td>{measured(best?.score)}</td>
          <td>{measured(best?.judge)}</td>
          <td>{percent(best?.winRate, 1)}</td>
        </tr>
      ))}
    </Table>
  );
}

function LineName({ group: { runs, label }, colour }: Pick<Frontier, "group" | "colour">) {
  const [run, other] = runs;
  if (run && !other)
    return <RunName job={run} colour={colour} to={`${paths.job(run.id)}?stage=ppo&tab=over-optimisation`} />;
  return (
    <span className={styles.name}>
      <i style={{ background: lineSample(colour) }} aria-hidden />
      {label}
    </span>
  );
}
