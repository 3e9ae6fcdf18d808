import { Link } from "react-router";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { NO_VALUE } from "@/lib/format";
import styles from "./job-health.module.css";

/** The gravest finding of a job in words, with its severity. It opens the health of the run. */
export function JobHealth({ job: { id, health, started_at } }: { job: JobSummary }) {
  if (!health) return <span className={styles.none}>{started_at ? "No findings" : NO_VALUE}</span>;
  const { severity, title, step, seed, findings } = health;
  const place = [seed === null ? "" : `seed ${seed}`, step === null ? "" : `step ${step}`].filter(Boolean).join(" ");
  return (
    <Link to={paths.jobHealth(id)} className={`${styles.health} ${styles[severity]}`} title={title}>
      <b>{title}</b>
      <small>{[severity, place, findings > 1 ? `${findings - 1} more` : ""].filter(Boolean).join(", ")}</small>
    </Link>
  );
}
