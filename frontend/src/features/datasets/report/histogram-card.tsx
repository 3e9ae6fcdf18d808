import type { Histogram } from "@/api/dataset-types";
import { bars } from "@/features/datasets/report/bars";
import styles from "@/features/datasets/report/report.module.css";
import { count, number } from "@/lib/format";

const HEIGHT = 100;

/** Lengths: how many rows have each, and what a limit would cut. */
export function HistogramCard({ histogram }: { histogram: Histogram }) {
  const { title, unit, limit, median, p95, max, edges } = histogram;
  const drawn = bars(histogram);
  const from = edges[0] ?? 0;
  const to = edges.at(-1) ?? 1;
  const at = limit === null ? null : (limit - from) / (to - from || 1);
  return (
    <article className={styles.card} aria-label={title}>
      <h3>{title}</h3>
      <p className={styles.readout}>
        median <b>{number(median)}</b> · 95 % below <b>{number(p95)}</b> · longest <b>{number(max)}</b> {unit}
      </p>
      <svg
        className={styles.histogram}
        viewBox={`0 0 100 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: median ${number(median)}, 95 % below ${number(p95)}, longest ${number(max)} ${unit}`}
      >
        {drawn.map((bar) => (
          <rect
            key={bar.from}
            className={limit !== null && bar.from >= limit ? styles.cut : ""}
            x={bar.left * 100}
            width={Math.max(0.2, bar.width * 100 - 0.3)}
            y={HEIGHT * (1 - bar.height)}
            height={HEIGHT * bar.height}
          >
            <title>{`${number(bar.from)} to ${number(bar.to)} ${unit}: ${count(bar.count, "row")}`}</title>
          </rect>
        ))}
        {at !== null && at >= 0 && at <= 1 && (
          <line x1={at * 100} x2={at * 100} y1={0} y2={HEIGHT} vectorEffect="non-scaling-stroke" />
        )}
      </svg>
      <p className={styles.ends} aria-hidden>
        <span>{number(from)}</span>
        {limit !== null && <span>{at !== null && at > 1 ? `limit ${number(limit)}, beyond all of them` : `limit ${number(limit)}`}</span>}
        <span>
          {number(to)} {unit}
        </span>
      </p>
    </article>
  );
}
