import styles from "./skeleton.module.css";

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
    <div className={styles.skeleton} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className={styles.bar} style={{ height, width: `${100 - ((index * 37) % 30)}%` }} />
      ))}
    </div>
  );
}
