import { Card } from "@/components/card";
import { bars, placeOf } from "@/features/datasets/model/report";
import type { Histogram } from "@/lib/api/types";
import { count, number } from "@/lib/format";
import styles from "./report.module.css";

const HEIGHT = 100;

/** Lengths: how many texts have each, and what a limit would cut. */
export function HistogramCard({ histogram }: { histogram: Histogram }) {
  const { title, unit, limit, median, p95, max, edges } = histogram;
  const drawn = bars(histogram);
  const width = 100 / Math.max(1, drawn.length);
  const at = limit === null ? null : placeOf(limit, histogram);
  const last = drawn.at(-1);
  return (
    <Card
      className={styles.card}
      aria-label={`${title}, ${unit}`}
      title={
        <>
          {title} <small>{unit}</small>
        </>
      }
    >
      <p>
        median <b>{number(median)}</b> · 95 % below <b>{number(p95)}</b> · longest <b>{number(max)}</b>
      </p>
      <svg
        className={styles.histogram}
        viewBox={`0 0 100 ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: median ${number(median)}, 95 % below ${number(p95)}, longest ${number(max)} ${unit}`}
      >
        {drawn.map((bar, index) => (
          <rect
            key={index}
            className={limit !== null && bar.from >= limit ? styles.cut : ""}
            x={index * width + width * 0.06}
            width={width * 0.88}
            y={HEIGHT * (1 - bar.height)}
            height={HEIGHT * bar.height}
          >
            <title>{`${number(bar.from)} to ${number(bar.to)} ${unit}: ${count(bar.count, "text")}`}</title>
          </rect>
        ))}
        {at !== null && <line x1={at * 100} x2={at * 100} y1={0} y2={HEIGHT} vectorEffect="non-scaling-stroke" />}
      </svg>
      <p className={styles.ends} aria-hidden>
        <span>{number(edges[0])}</span>
        {limit !== null && <span>{limitText(limit, max)}</span>}
        <span>{last && last.to - last.from > 1 ? `${number(last.from)} to ${number(last.to)}` : number(last?.to)}</span>
      </p>
    </Card>
  );
}

const limitText = (limit: number, longest: number): string =>
  limit >= longest ? `limit ${number(limit)}: all fit` : `limit ${number(limit)}`;
