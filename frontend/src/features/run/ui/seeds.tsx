import { Prose } from "@/components/text";
import type { RunEvent } from "@/features/run/model/event";
import { type SeedView, seedViews } from "@/features/run/model/results";
import type { Job } from "@/lib/api/types";
import { count, duration, measured, percent } from "@/lib/format";
import styles from "./seeds.module.css";

/** Of a job of several seeds: how each ended, and what they say together. */
export function Seeds({ job, log }: { job: Job; log: readonly RunEvent[] }) {
  const seeds = seedViews(log);
  if (!seeds.length) return null;
  const collapsed = seeds.filter((seed) => seed.collapsed).length;
  return (
    <section className={styles.seeds} aria-label="Seeds">
      <h2>{collapsed ? `${collapsed} of ${count(seeds.length, "seed")} collapsed` : count(seeds.length, "seed")}</h2>
      <div className={styles.frame}>
        <table>
          <thead>
            <tr>
              <th scope="col">Seed</th>
              <th scope="col">Win rate</th>
              <th scope="col">KL</th>
              <th scope="col">Took</th>
              <th scope="col">Ended</th>
            </tr>
          </thead>
          <tbody>
            {seeds.map((seed) => (
              <Row key={seed.seed} seed={seed} />
            ))}
          </tbody>
        </table>
      </div>
      <Together summary={job.summary ?? {}} />
    </section>
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
    <p className={styles.note}>
      Mean win rate {percent(rate, 1)}
      {low !== undefined &&
        high !== undefined &&
        `, 95 % interval over the seeds ${percent(low, 1)} to ${percent(high, 1)}`}
      . Metrics and result below are those of the first seed.
    </p>
  );
}
