import { bestCheckpoint } from "@/features/run/model/best";
import type { Sides } from "@/features/run/model/spec";
import { percent } from "@/lib/format";
import styles from "./results.module.css";

interface Props {
  summary: Readonly<Record<string, number>>;
  sides: Sides;
  /** Whether the job names a judge of its own. */
  judged: boolean;
}

/** The headline, with its uncertainty drawn to scale. */
export function WinRate({ summary, sides, judged }: Props) {
  const { win_rate: rate = 0, win_rate_low: low, win_rate_high: high, rm_win_rate: byModel } = summary;
  const best = bestCheckpoint(summary);
  return (
    <section className={styles.card} aria-label="Win rate">
      <h2>
        {sides.after} against {sides.before}, win rate
      </h2>
      <p className={styles.rate}>{percent(rate, 1)}</p>
      {low !== undefined && high !== undefined && (
        <>
          <div
            className={styles.scale}
            role="img"
            aria-label={`95 % interval from ${percent(low, 1)} to ${percent(high, 1)}; 50 % would be no difference`}
          >
            <i className={styles.interval} style={{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }} />
            <i className={styles.point} style={{ left: `${rate * 100}%` }} />
            <i className={styles.even} />
          </div>
          <p className={styles.ends} aria-hidden>
            <span>0 %</span>
            <span>no difference</span>
            <span>100 %</span>
          </p>
          <p>
            95 % interval {percent(low, 1)} to {percent(high, 1)}.
          </p>
        </>
      )}
      {best !== null && <p>{best}</p>}
      <p className={styles.note}>
        {judged
          ? `Judged by the judge that the job names, on the same held-out prompts.${byModel === undefined ? "" : ` By the job's own rewards: ${percent(byModel, 1)}.`}`
          : "Judged by the job's own rewards, on the same held-out prompts. Name a judge in the spec for an independent view."}
      </p>
    </section>
  );
}
