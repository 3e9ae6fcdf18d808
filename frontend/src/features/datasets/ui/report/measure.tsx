import { percent } from "@/lib/format";
import styles from "./report.module.css";

interface Props {
  /** 0 to 1. */
  share: number;
  /** A 95 % interval, where there is one. */
  low?: number;
  high?: number;
  label: string;
  /** Marks the middle, where half and half would be no difference. */
  even?: boolean;
}

/** A share drawn to scale, with its uncertainty. */
export function Measure({ share, low, high, label, even = false }: Props) {
  return (
    <div className={styles.scale} role="img" aria-label={`${label}: ${percent(share, 1)}`}>
      {low !== undefined && high !== undefined && (
        <i className={styles.interval} style={{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }} />
      )}
      <i className={styles.filled} style={{ width: `${share * 100}%` }} />
      <i className={styles.point} style={{ left: `${share * 100}%` }} />
      {even && <i className={styles.even} />}
    </div>
  );
}
