import { Link } from "react-router";
import type { Round } from "@/api/types";
import { ContinueButton } from "@/features/annotation/round/continue-button";
import { DatasetLink } from "@/features/annotation/round/dataset-link";
import styles from "@/features/annotation/round/round.module.css";
import { paths } from "@/lib/paths";

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
