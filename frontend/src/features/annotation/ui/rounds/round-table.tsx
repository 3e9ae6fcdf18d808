import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { ProgressBar, StatusBadge } from "@/components/status";
import { RowLink, Table } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { shareAnswered, sourceInWords } from "@/features/annotation/model/round";
import { paths } from "@/lib/address";
import type { Round } from "@/lib/api/types";
import { count, percent } from "@/lib/format";
import styles from "./rounds.module.css";

const HEAD = [
  "Round",
  "Status",
  "Answers",
  "Annotators",
  "Created",
  <th key="actions" scope="col">
    <span className="visually-hidden">Actions</span>
  </th>,
];

export function RoundTable({ rounds }: { rounds: readonly Round[] }) {
  return (
    <Table label="Rounds" head={HEAD} className={styles.rounds}>
      {rounds.map((round) => (
        <Row key={round.id} round={round} />
      ))}
    </Table>
  );
}

function Row({ round }: { round: Round }) {
  return (
    <tr>
      <th scope="row" className={styles.name}>
        <RowLink to={paths.round(round.id)}>{round.name}</RowLink>
        <span>{sourceInWords(round)}</span>
      </th>
      <td>
        <StatusBadge status={round.status} />
      </td>
      <td className={styles.progress}>
        <Answers round={round} />
      </td>
      <td data-label="Annotators">{round.annotators}</td>
      <td className={styles.time}>
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
