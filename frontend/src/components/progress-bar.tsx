import styles from "./progress-bar.module.css";

interface Props {
  /** 0 to 1. */
  fraction: number;
  label: string;
  tone?: "active" | "good" | "bad" | "neutral" | "warn";
}

export function ProgressBar({ fraction, label, tone = "active" }: Props) {
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
