import type { ReportCard } from "@/features/run/model/report-card";
import { measured, percent } from "@/lib/format";
import styles from "./report-card.module.css";

/** Where the reward model can be trusted: its accuracy on held-out rows, slice by slice, and its calibration. */
export function ReportCardTable({ card }: { card: ReportCard }) {
  return (
    <section className={styles.card} aria-label="Report card">
      <h2>{`Report card on held-out ${card.of}`}</h2>
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
    </section>
  );
}

function Slices({ card }: { card: ReportCard }) {
  return (
    <div className={styles.frame}>
      <table>
        <thead>
          <tr>
            <th scope="col">{card.of === "pairs" ? "Pairs" : "Thumbs"}</th>
            <th scope="col">Number</th>
            <th scope="col">Accuracy</th>
            <th scope="col">95 % interval</th>
            <th scope="col">Confidence</th>
          </tr>
        </thead>
        <tbody>
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
        </tbody>
      </table>
    </div>
  );
}

function Calibration({ card }: { card: ReportCard }) {
  return (
    <div className={styles.frame}>
      <table>
        <thead>
          <tr>
            <th scope="col">{card.of === "pairs" ? "Sure by" : "Expected thumbs up"}</th>
            <th scope="col">{card.of === "pairs" ? "Right in" : "Seen"}</th>
            <th scope="col">Number</th>
          </tr>
        </thead>
        <tbody>
          {card.calibration.map((bin) => (
            <tr key={bin.low}>
              <th scope="row">{percent(bin.predicted, 1)}</th>
              <td>{percent(bin.observed, 1)}</td>
              <td>{bin.pairs}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
