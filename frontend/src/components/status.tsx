import { statusTone } from "@/lib/states";
import progressBarStyles from "./progress-bar.module.css";
import skeletonStyles from "./skeleton.module.css";
import styles from "./status-badge.module.css";

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
      className={`${progressBarStyles.track} ${progressBarStyles[tone]}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div className={progressBarStyles.fill} style={{ width: `${percent}%` }} />
    </div>
  );
}

/** Grey bars where rows will be. */
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
    <div className={skeletonStyles.skeleton} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className={skeletonStyles.bar} style={{ height, width: `${100 - ((index * 37) % 30)}%` }} />
      ))}
    </div>
  );
}

/** Said to who does not see the page, whenever it changes. Figures that change all the time do not belong in it. */
export function Announce({ text }: { text: string }) {
  return (
    <span role="status" className="visually-hidden">
      {text}
    </span>
  );
}
