import { useEffect, useRef, useState } from "react";
import { ticksWithin } from "@/charts/frontier";
import { Table } from "@/components/table";
import type { CriticCard } from "@/features/critic/model/card";
import { count, measured, number } from "@/lib/format";
import styles from "./critic.module.css";

const HEIGHT = 240;
const MARGIN = { left: 48, right: 12, top: 10, bottom: 36 };
const LARGEST = 9;

/** Mean return over mean value of each bin, with the line on which both are equal. Both axes have one scale. */
export function CalibrationPlot({ bins }: { bins: CriticCard["calibration"] }) {
  const frame = useRef<HTMLElement>(null);
  const width = useWidth(frame);
  const all = bins.flatMap(({ value, returns }) => [value, returns]);
  const gap = (Math.max(...all) - Math.min(...all) || Math.abs(all[0] ?? 0) || 1) * 0.08;
  const [low, high] = [Math.min(...all) - gap, Math.max(...all) + gap];
  const [right, bottom] = [width - MARGIN.right, HEIGHT - MARGIN.bottom];
  const x = (value: number) => MARGIN.left + ((value - low) / (high - low)) * (right - MARGIN.left);
  const y = (value: number) => bottom - ((value - low) / (high - low)) * (bottom - MARGIN.top);
  const most = Math.max(...bins.map(({ tokens }) => tokens));
  return (
    <figure ref={frame} className={styles.plot}>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`Mean return over mean value of ${count(bins.length, "bin")}`}
      >
        {ticksWithin(low, high, 5).map((value) => (
          <g key={value} className={styles.grid}>
            <line x1={MARGIN.left} x2={right} y1={y(value)} y2={y(value)} />
            <text x={MARGIN.left - 6} y={y(value) + 4} textAnchor="end">
              {number(value)}
            </text>
            <text x={x(value)} y={bottom + 15} textAnchor="middle">
              {number(value)}
            </text>
          </g>
        ))}
        <text className={styles.axis} x={(MARGIN.left + right) / 2} y={HEIGHT - 3} textAnchor="middle">
          mean value
        </text>
        <text className={styles.axis} x={MARGIN.left + 4} y={MARGIN.top + 8}>
          mean return
        </text>
        <line className={styles.diagonal} x1={x(low)} y1={y(low)} x2={x(high)} y2={y(high)} />
        {bins.map(({ low: from, value, returns, tokens }) => (
          <g key={from} className={styles.bin}>
            <line x1={x(value)} x2={x(value)} y1={y(value)} y2={y(returns)} />
            <circle cx={x(value)} cy={y(returns)} r={3 + (LARGEST - 3) * Math.sqrt(tokens / most)}>
              <title>{`Value ${measured(value)}, return ${measured(returns)}, ${count(tokens, "token")}`}</title>
            </circle>
          </g>
        ))}
      </svg>
      <details>
        <summary>The numbers as a table</summary>
        <Table label="Calibration" look="plain" head={["Mean value", "Mean return", "Tokens"]}>
          {bins.map(({ low: from, value, returns, tokens }) => (
            <tr key={from}>
              <th scope="row">{measured(value)}</th>
              <td>{measured(returns)}</td>
              <td>{tokens}</td>
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(300);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(220, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
