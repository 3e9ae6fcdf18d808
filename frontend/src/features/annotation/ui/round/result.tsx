import { Link } from "react-router";
import { ContinueButton } from "@/features/annotation/ui/round/continue-button";
import { DatasetLink } from "@/features/annotation/ui/round/dataset-link";
import type { Round } from "@/lib/api/types";
import { paths } from "@/lib/paths";
import styles from "./round.module.css";

/** What became of a closed round, and what to do with it. */
export function Result({ round }: { round: Round }) {
  return (
    <section className={`${styles.card} ${styles.result}`} aria-label="Result">
      <h2>What became of it</h2>
      {round.dataset ? (
        <p>
          <DatasetLink reference={round.version === null ? round.dataset : `${round.dataset}@${round.version}`} />
        </p>
      ) : (
        <p>Its dataset has been deleted.</p>
      )}
      {round.jobs.length > 0 && (
        <p>
          Went on as{" "}
          {round.jobs.map((job) => (
            <Link key={job} className={styles.job} to={paths.job(job)}>
              <code>{job}</code>
            </Link>
          ))}
        </p>
      )}
      {round.dataset && <ContinueButton round={round} />}
    </section>
  );
}
