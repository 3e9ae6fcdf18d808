import { Card, Note } from "@/components/card";
import { Table } from "@/components/table";
import { Prose } from "@/components/text";
import { type SeedView, seedViews } from "@/features/run/model/results";
import type { Job, JobEvent } from "@/lib/api/types";
import { count, duration, measured, percent } from "@/lib/format";
import styles from "./results.module.css";

/** Result of each seed, and their mean, for a job with several seeds. */
export function Seeds({ job, log }: { job: Job; log: readonly JobEvent[] }) {
  const seeds = seedViews(log);
  if (!seeds.length) return null;
  const collapsed = seeds.filter((seed) => seed.collapsed).length;
  const title = collapsed ? `${collapsed} of ${count(seeds.length, "seed")} collapsed` : count(seeds.length, "seed");
  return (
    <Card className={styles.seeds} aria-label="Seeds" title={title}>
      <Table label="Seeds" look="plain" head={["Seed", "Win rate", "KL", "Duration", "Result"]}>
        {seeds.map((seed) => (
          <Row key={seed.seed} seed={seed} />
        ))}
      </Table>
      <Together summary={job.summary ?? {}} />
    </Card>
  );
}

function Row({ seed }: { seed: SeedView }) {
  return (
    <tr>
      <th scope="row">{seed.seed}</th>
      <td>{percent(seed.winRate, 1)}</td>
      <td>{measured(seed.kl)}</td>
      <td>{duration(seed.seconds)}</td>
      <td className={seed.collapsed ? styles.collapsed : ""}>
        <Prose text={seed.collapsed ? `collapsed${seed.why ? `: ${seed.why}` : ""}` : "well"} />
      </td>
    </tr>
  );
}

function Together({ summary }: { summary: Readonly<Record<string, number>> }) {
  const { win_rate: rate, win_rate_low: low, win_rate_high: high } = summary;
  if (rate === undefined) return null;
  return (
    <Note>
      Mean win rate {percent(rate, 1)}
      {low !== undefined &&
        high !== undefined &&
        `, 95 % interval over the seeds ${percent(low, 1)} to ${percent(high, 1)}`}
      . Metrics and result below are those of the first seed.
    </Note>
  );
}
