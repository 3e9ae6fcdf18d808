import { Button } from "@/components/button";
import { Card, Note } from "@/components/card";
import { Table } from "@/components/table";
import { Prose } from "@/components/text";
import { bestSeed, cameToEnd, spreadOf, spreadParts } from "@/lib/seeds";
import type { Seeds } from "@/features/run/model/use-seeds";
import type { Job, SeedResult } from "@/lib/api/types";
import { count, duration, measured, number, percent } from "@/lib/format";
import { stageShort } from "@/lib/states";
import styles from "./results.module.css";

/** The result of each seed of a job with several, and their mean. A click on a seed shows its charts and completions. */
export function SeedTable({ job, seeds }: { job: Job; seeds: Seeds }) {
  if (!job.seeds.length) return null;
  const collapsed = job.seeds.filter(({ status }) => status === "collapsed").length;
  const best = job.seeds.some(cameToEnd) ? bestSeed(job) : null;
  return (
    <Card
      className={styles.seeds}
      aria-label="Seeds"
      title={`${count(job.seeds.length, "seed")}${collapsed ? `, ${collapsed} collapsed` : ""}`}
    >
      <Table label="Seeds" look="plain" head={["Seed", "Win rate", "KL", "Score", "Best step", "Duration", "Result"]}>
        {job.seeds.map((seed) => (
          <Row key={seed.seed} seed={seed} isBest={seed.seed === best} seeds={seeds} />
        ))}
        <Together job={job} seeds={seeds} />
      </Table>
      <Note>
        {seeds.chosen === null
          ? "The figures and charts are those of all seeds. Choose a seed to see it alone."
          : `The figures, charts and completions are those of seed ${seeds.chosen}.`}
      </Note>
    </Card>
  );
}

interface RowProps {
  seed: SeedResult;
  isBest: boolean;
  seeds: Seeds;
}

function Row({ seed, isBest, seeds }: RowProps) {
  const { win_rate: rate = null, kl = null, score_after: score = null, best_step: step = null } = seed.summary ?? {};
  const isChosen = seeds.chosen === seed.seed;
  return (
    <tr className={isChosen ? styles.chosen : ""}>
      <th scope="row">
        <Button look="quiet" aria-pressed={isChosen} onClick={() => seeds.choose(isChosen ? null : seed.seed)}>
          {`Seed ${seed.seed}`}
        </Button>
      </th>
      <td>{percent(rate, 1)}</td>
      <td>{measured(kl)}</td>
      <td>{measured(score)}</td>
      <td>{step === null ? measured(null) : number(step)}</td>
      <td>{duration(seed.seconds)}</td>
      <td className={seed.status === "collapsed" ? styles.collapsed : ""}>
        <Prose text={`${isBest ? "the best; " : ""}${resultOf(seed)}`} />
      </td>
    </tr>
  );
}

function resultOf({ status, why, stage, step, total_steps: total }: SeedResult): string {
  const place = stage === null ? "" : `${stageShort(stage)}, step ${step} of ${total}`;
  switch (status) {
    case "finished":
      return "did not collapse";
    case "collapsed":
      return `collapsed${why ? `: ${why}` : ""}`;
    case "running":
      return place ? `in ${place}` : "starting";
    case "stopped":
      return place ? `stopped in ${place}` : "not reached";
    case "waiting":
      return "waiting";
  }
}

/** The means over the seeds that came to an end, with their intervals. The best steps have no mean. */
function Together({ job, seeds }: { job: Job; seeds: Seeds }) {
  const summary = job.seeds_summary;
  const ended = job.seeds.filter(cameToEnd);
  if (!summary || !ended.length) return null;
  const text = (name: string, show: (value: number) => string) => {
    const spread = spreadOf(summary, name);
    if (!spread) return measured(null);
    const { value, rest } = spreadParts(spread, ended.length, show);
    return (
      <>
        {value} <small>{rest}</small>
      </>
    );
  };
  const seconds = ended.reduce((sum, one) => sum + (one.seconds ?? 0), 0) / ended.length;
  return (
    <tr className={styles.together}>
      <th scope="row">
        <Button look="quiet" aria-pressed={seeds.chosen === null} onClick={() => seeds.choose(null)}>
          Mean
        </Button>
      </th>
      <td>{text("win_rate", (value) => percent(value, 1))}</td>
      <td>{text("kl", measured)}</td>
      <td>{text("score_after", measured)}</td>
      <td />
      <td>{duration(seconds)}</td>
      <td>{ended.length > 1 ? "with 95 % intervals over the seeds" : ""}</td>
    </tr>
  );
}
