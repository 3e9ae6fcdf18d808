import type { CSSProperties } from "react";
import { type Bar, barsOf, type Ends } from "@/features/critic/model/card";
import styles from "./critic.module.css";

interface BarTableProps {
  label: string;
  /** Names of the column of the rows and of that of the values. */
  head: readonly [string, string];
  rows: readonly {
    readonly name: string;
    readonly detail?: string;
    readonly value: number | null | undefined;
    readonly text: string;
  }[];
  ends: Ends;
}

/** Values with a bar each, from 0 to the left or to the right. */
export function BarTable({ label, head, rows, ends }: BarTableProps) {
  const { zero, bars } = barsOf(
    rows.map(({ value }) => value),
    ends,
  );
  return (
    <table className={styles.bars} aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{head[0]}</th>
          <td aria-hidden />
          <th scope="col">{head[1]}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, detail, text }, index) => (
          <tr key={name}>
            <th scope="row">
              {name}
              {detail && <small>{detail}</small>}
            </th>
            <td aria-hidden>
              <Track zero={zero} bar={bars[index] ?? null} />
            </td>
            <td>{text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Track({ zero, bar }: { zero: number; bar: Bar | null }) {
  const style = { "--zero": zero, "--from": bar?.from ?? 0, "--to": bar?.to ?? 0 } as CSSProperties;
  const side = bar && bar.to <= zero && bar.from < zero ? styles.negative : "";
  return (
    <div className={styles.track} style={style}>
      {bar && <i className={`${side} ${bar.isCut ? styles.cut : ""}`} />}
    </div>
  );
}
