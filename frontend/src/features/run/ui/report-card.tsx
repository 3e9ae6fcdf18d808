import { Card } from "@/components/card";
import { Table } from "@/components/table";
import { type ReportCard, reportCard } from "@/features/run/model/report-card";
import type { JobEvent } from "@/lib/api/types";
import { measured, percent } from "@/lib/format";
import styles from "./results.module.css";

/** Where the reward model can be trusted: its accuracy on held-out rows, slice by slice, and its calibration. */
export function ReportCardOf({ log, stage }: { log: readonly JobEvent[]; stage: string }) {
  const card = reportCard(log, stage);
  if (!card) return null;
  return (
    <Card className={styles.report} aria-label="Report card" title={`Report card on held-out ${card.of}`}>
      <div className={styles.tables}>
        <Slices card={card} />
        {card.calibration.length > 0 && <Calibration card={card} />}
      </div>
      <dl>
        {card.figures.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{measured(value)}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Slices({ card }: { card: ReportCard }) {
  const unit = { pairs: "Pairs", thumbs: "Thumbs", steps: "Steps" }[card.of];
  return (
    <Table
      label="Agreement with the labels"
      look="plain"
      head={[unit, "Number", "Accuracy", "95 % interval", "Confidence"]}
    >
      {card.rows.map((row) => (
        <tr key={`${row.group}/${row.name}`}>
          <th scope="row">
            {row.group && <small>{row.group} </small>}
            {row.name}
          </th>
          <td>{row.pairs}</td>
          <td>{percent(row.accuracy, 1)}</td>
          <td>{`${percent(row.low, 0)} to ${percent(row.high, 0)}`}</td>
          <td>{percent(row.confidence, 1)}</td>
        </tr>
      ))}
    </Table>
  );
}

const CALIBRATION = {
  pairs: ["Predicted", "Correct", "Number"],
  thumbs: ["Predicted thumbs up", "Observed", "Number"],
  steps: ["Predicted good", "Observed", "Number"],
};

function Calibration({ card }: { card: ReportCard }) {
  return (
    <Table label="Calibration" look="plain" head={CALIBRATION[card.of]}>
      {card.calibration.map((bin) => (
        <tr key={bin.low}>
          <th scope="row">{percent(bin.predicted, 1)}</th>
          <td>{percent(bin.observed, 1)}</td>
          <td>{bin.pairs}</td>
        </tr>
      ))}
    </Table>
  );
}
