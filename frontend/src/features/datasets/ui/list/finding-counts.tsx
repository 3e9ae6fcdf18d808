import { count } from "@/lib/format";
import styles from "@/features/datasets/ui/datasets.module.css";

/** How many kinds of trouble the newest version has, by how bad they are. */
export function FindingCounts({ findings }: { findings: { blocking: number; warning: number } }) {
  const { blocking, warning } = findings;
  if (!blocking && !warning) return <span className={styles.none}>none</span>;
  return (
    <span className={styles.counts}>
      {blocking > 0 && <b className={styles.bad}>{count(blocking, "blocking", "blocking")}</b>}
      {warning > 0 && <b className={styles.warn}>{count(warning, "warning")}</b>}
    </span>
  );
}
