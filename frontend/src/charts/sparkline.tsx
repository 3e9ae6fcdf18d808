import { measured, NO_VALUE } from "@/lib/format";
import styles from "./charts.module.css";

const WIDTH = 132;
const HEIGHT = 30;
const PAD = 3;

interface SparklineProps {
  values: readonly number[];
  label: string;
  /** After the last value. */
  note?: string;
}

/** The shape of a series, its last value beside it. */
export function Sparkline({ values, label, note }: SparklineProps) {
  const last = values.at(-1);
  if (last === undefined)
    return (
      <span className={styles.none} data-empty>
        {NO_VALUE}
      </span>
    );
  const points = place(values);
  const end = points.at(-1);
  return (
    <span className={styles.sparkline}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={`${label}, last ${measured(last)}`}
      >
        <polyline points={points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
        {end && <circle cx={end[0]} cy={end[1]} r={2.4} />}
      </svg>
      <span className={styles.value}>
        {measured(last)}
        {note && <small> {note}</small>}
      </span>
    </span>
  );
}

function place(values: readonly number[]): [number, number][] {
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  const stride = (WIDTH - 2 * PAD) / Math.max(1, values.length - 1);
  return values.map((value, index) => [
    PAD + index * stride,
    HEIGHT - PAD - ((value - low) / range) * (HEIGHT - 2 * PAD),
  ]);
}
