import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { ProgressBar, StatusBadge } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { shareAnswered, sourceInWords } from "@/features/annotation/model/round";
import { paths } from "@/lib/address";
import type { Round } from "@/lib/api/types";
import { count, percent } from "@/lib/format";
import styles from "./rounds.module.css";

export function RoundTable({ rounds }: { rounds: readonly Round[] }) {
  return (
    <div className={styles.frame}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Round</th>
            <th scope="col">Status</th>
            <th scope="col">Answers</th>
            <th scope="col">Annotators</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rounds.map((round) => (
            <Row key={round.id} round={round} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ round }: { round: Round }) {
  return (
    <tr>
      <td className={styles.name}>
        <Link to={paths.round(round.id)}>{round.name}</Link>
        <span>{sourceInWords(round)}</span>
      </td>
      <td>
        <StatusBadge status={round.status} />
      </td>
      <td className={styles.progress}>
        <Answers round={round} />
      </td>
      <td className={styles.small} data-label="annotators">
        {round.annotators}
      </td>
      <td className={styles.small}>
        <TimeAgo time={round.created_at} />
      </td>
      <td className={styles.action}>
        {round.status === "open" && (
          <Link className={buttonClass()} to={paths.queue(round.id)} aria-label={`Annotate ${round.name}`}>
            Annotate
          </Link>
        )}
      </td>
    </tr>
  );
}

function Answers({ round }: { round: Round }) {
  const { status, progress, error } = round;
  if (status === "failed") return <span className={styles.why}>{error?.message}</span>;
  if (status === "preparing") {
    return (
      <div className={styles.bar}>
        <span>{progress?.note ?? "waiting for a worker"}</span>
        <ProgressBar fraction={progress?.fraction ?? 0} label={`Preparation of ${round.name}`} />
      </div>
    );
  }
  const share = shareAnswered(round);
  return (
    <div className={styles.bar}>
      <span>
        {round.answers.toLocaleString("en-US")} of {count(round.answers_wanted, "answer")} <i>{percent(share)}</i>
      </span>
      <ProgressBar fraction={share} label={`Answers of ${round.name}`} tone={share === 1 ? "good" : "active"} />
    </div>
  );
}
