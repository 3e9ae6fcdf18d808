import { Table } from "@/components/table";
import { TimeAgo } from "@/components/text";
import type { AnnotatorProgress } from "@/lib/api/types";
import { duration, number, percent, NO_VALUE } from "@/lib/format";
import styles from "./round.module.css";

const COLUMNS = [
  "Annotator",
  "Answers",
  "Ties",
  "Skips",
  "Median time",
  "Per hour",
  "Gold",
  "With others",
  "With reward model",
  "Last",
];

/** Who has answered how much, how fast, and how much like the others. */
export function AnnotatorTable({ annotators }: { annotators: readonly AnnotatorProgress[] }) {
  if (!annotators.length) return null;
  return (
    <section className={styles.people} aria-label="Annotators">
      <h2>Annotators</h2>
      <Table label="Annotators" head={COLUMNS}>
        {annotators.map((one) => (
          <Row key={one.annotator} one={one} />
        ))}
      </Table>
    </section>
  );
}

function Row({ one }: { one: AnnotatorProgress }) {
  const gold = one.gold_of > 0 ? `${one.gold_right} of ${one.gold_of}` : NO_VALUE;
  const cells = [
    one.answers,
    one.ties,
    one.skips,
    duration(one.median_seconds),
    number(one.per_hour),
    gold,
    percent(one.agreement),
    percent(one.reward_model_agreement),
  ];
  return (
    <tr>
      <th scope="row">{one.annotator}</th>
      {cells.map((cell, index) => (
        <td key={index} data-label={COLUMNS[index + 1]}>
          {cell}
        </td>
      ))}
      <td data-label="Last">{one.last_at ? <TimeAgo time={one.last_at} /> : NO_VALUE}</td>
    </tr>
  );
}
