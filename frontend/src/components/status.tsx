import { percent } from "@/lib/format";
import { statusTone } from "@/lib/states";
import styles from "./status.module.css";

export function StatusBadge({ status }: { status: string }) {
  return (
    <span className={`${styles.badge} ${styles[statusTone(status)]}`} data-status={status}>
      <span className={styles.dot} aria-hidden />
      {status}
    </span>
  );
}

interface ProgressBarProps {
  /** 0 to 1. */
  fraction: number;
  label: string;
  tone?: "active" | "good" | "bad" | "neutral" | "warn";
}

export function ProgressBar({ fraction, label, tone = "active" }: ProgressBarProps) {
  const percent = Math.round(Math.min(1, Math.max(0, fraction)) * 1000) / 10;
  return (
    <div
      className={`${styles.track} ${styles[tone]}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div className={styles.fill} style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Grey bars in place of rows that are loading. */
export function Skeleton({
  rows = 4,
  height = "1rem",
  label = "Loading",
}: {
  rows?: number;
  height?: string;
  label?: string;
}) {
  return (
    <div className={styles.skeleton} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className={styles.bone} style={{ height, width: `${100 - ((index * 37) % 30)}%` }} />
      ))}
    </div>
  );
}

/** Text that screen readers announce when it changes. It must not hold figures that change often. */
export function Announce({ text }: { text: string }) {
  return (
    <span role="status" className="visually-hidden">
      {text}
    </span>
  );
}

interface MeasureProps {
  /** 0 to 1. */
  share: number;
  /** A 95 % interval, where there is one. */
  low?: number;
  high?: number;
  label: string;
  /** Fills the bar from 0 to the share. */
  filled?: boolean;
  /** Marks the middle, where half and half would be no difference. */
  even?: boolean;
}

/** A share drawn to scale, with its uncertainty. */
export function Measure({ share, low, high, label, filled = true, even = false }: MeasureProps) {
  return (
    <div className={styles.scale} role="img" aria-label={`${label}: ${percent(share, 1)}`}>
      {low !== undefined && high !== undefined && (
        <i className={styles.interval} style={{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }} />
      )}
      {filled && <i className={styles.filled} style={{ width: `${share * 100}%` }} />}
      <i className={styles.point} style={{ left: `${share * 100}%` }} />
      {even && <i className={styles.even} />}
    </div>
  );
}
