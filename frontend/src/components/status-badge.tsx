import { statusTone } from "@/lib/status";
import styles from "./status-badge.module.css";

export function StatusBadge({ status }: { status: string }) {
  return (
    <span className={`${styles.badge} ${styles[statusTone(status)]}`} data-status={status}>
      <span className={styles.dot} aria-hidden />
      {status}
    </span>
  );
}
