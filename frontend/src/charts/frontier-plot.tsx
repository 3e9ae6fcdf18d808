import { type PointerEvent, useEffect, useRef, useState } from "react";
import {
  type Box,
  type FrontierLine,
  type FrontierPlace,
  labelAt,
  labelled,
  nearestTo,
  type Placed,
  placedIn,
} from "@/charts/frontier";
import { dashOf, lineColour } from "@/charts/palette";
import { number } from "@/lib/format";
import styles from "./frontier.module.css";

const HEIGHT = 220;
const MARGIN = { left: 48, right: 16, top: 14, bottom: 34 };

interface FrontierPlotProps {
  label: string;
  meaning: string;
  lines: readonly FrontierLine[];
  format: (value: number) => string;
  /** The chosen point. */
  at: FrontierPlace | null;
  onPoint: (at: FrontierPlace) => void;
}

/** A figure of the evaluations over √KL, joined in the order of the steps. The chosen one of several lines stands out. */
export function FrontierPlot({ label, meaning, lines, format, at, onPoint }: FrontierPlotProps) {
  const frame = useRef<HTMLElement>(null);
  const width = useWidth(frame);
  const box: Box = {
    left: MARGIN.left,
    right: width - MARGIN.right,
    top: MARGIN.top,
    bottom: HEIGHT - MARGIN.bottom,
  };
  const { placed, xs, ys } = placedIn(box, lines, { x: width < 420 ? 4 : 7, y: 4 });
  const count = placed.reduce((sum, points) => sum + points.length, 0);
  const choose = (event: PointerEvent<SVGSVGElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const found = nearestTo(placed, event.clientX - left, event.clientY - top);
    if (found && (found.line !== at?.line || found.point !== at.point)) onPoint(found);
  };
  // The chosen line is drawn last, above the others.
  const order = [...lines.keys()].sort((a, b) => Number(a === at?.line) - Number(b === at?.line));
  return (
    <figure ref={frame} className={styles.panel}>
      <figcaption>
        <b>{label}</b> {meaning}
      </figcaption>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${label} over √KL, ${count} evaluations`}
        onPointerMove={choose}
        onPointerDown={choose}
      >
        {ys.map(({ value, at: y }) => (
          <g key={value} className={styles.grid}>
            <line x1={box.left} x2={box.right} y1={y} y2={y} />
            <text x={box.left - 6} y={y + 4} textAnchor="end">
              {format(value)}
            </text>
          </g>
        ))}
        {xs.map(({ value, at: x }) => (
          <text key={value} className={styles.tick} x={x} y={box.bottom + 15} textAnchor="middle">
            {number(value)}
          </text>
        ))}
        <text className={styles.tick} x={(box.left + box.right) / 2} y={HEIGHT - 3} textAnchor="middle">
          √KL to the start
        </text>
        {order.map((index) => {
          const line = lines[index];
          const points = placed[index];
          if (!line || !points) return null;
          const isChosen = lines.length === 1 || index === at?.line;
          return (
            <g key={line.key} data-line={line.label} opacity={isChosen || !at ? 1 : 0.45}>
              <Line line={line} points={points} chosen={isChosen ? (at?.point ?? null) : null} />
              {isChosen && <Labels points={points} box={box} />}
            </g>
          );
        })}
      </svg>
      <Key />
    </figure>
  );
}

function Line({ line, points, chosen }: { line: FrontierLine; points: readonly Placed[]; chosen: number | null }) {
  return (
    <>
      <polyline
        className={styles.line}
        stroke={lineColour(line.colour)}
        strokeDasharray={dashOf(line.colour).join(" ") || undefined}
        points={points.map((one) => `${one.x},${one.y}`).join(" ")}
      />
      {points.map((one) => (
        <Mark key={one.step} {...one} colour={lineColour(line.colour)} chosen={one.point === chosen} />
      ))}
    </>
  );
}

interface MarkProps {
  x: number;
  y: number;
  saved: boolean;
  best: boolean;
  chosen?: boolean;
  colour: string;
}

/** A circle; a square for a checkpoint; a diamond for the best one. */
function Mark({ x, y, saved, best, chosen = false, colour }: MarkProps) {
  const size = best ? 5.5 : 4;
  return (
    <g className={best ? styles.bestMark : styles.mark} stroke={colour} fill={saved ? colour : "var(--surface)"}>
      {chosen && <circle className={styles.ring} cx={x} cy={y} r={9} />}
      {saved || best ? (
        <rect
          x={x - size + 0.5}
          y={y - size + 0.5}
          width={2 * size - 1}
          height={2 * size - 1}
          transform={best ? `rotate(45 ${x} ${y})` : undefined}
        />
      ) : (
        <circle cx={x} cy={y} r={3.5} />
      )}
    </g>
  );
}

function Labels({ points, box }: { points: readonly Placed[]; box: Box }) {
  return labelled(points).map((one) => {
    const text = one.best ? `best: step ${one.step}` : `step ${one.step}`;
    const { x, y, anchor } = labelAt(text, one, points, box);
    return (
      <text key={one.step} className={one.best ? styles.bestLabel : styles.tick} x={x} y={y} textAnchor={anchor}>
        {text}
      </text>
    );
  });
}

function Key() {
  const kinds = [
    { label: "evaluation", saved: false, best: false },
    { label: "with a checkpoint", saved: true, best: false },
    { label: "best", saved: true, best: true },
  ];
  return (
    <p className={styles.key} aria-hidden>
      {kinds.map(({ label, ...kind }) => (
        <span key={label}>
          <svg width="12" height="12">
            <Mark x={6} y={6} {...kind} colour="var(--chart-1)" />
          </svg>
          {label}
        </span>
      ))}
    </p>
  );
}

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
