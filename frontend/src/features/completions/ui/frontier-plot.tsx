import { type PointerEvent, useEffect, useRef, useState } from "react";
import { type Evaluation, type PanelId, ticksWithin } from "@/features/completions/model/frontier";
import { number, percent } from "@/lib/format";
import styles from "./over-optimisation.module.css";

const HEIGHT = 220;
const MARGIN = { left: 48, right: 16, top: 14, bottom: 34 };

interface FrontierPlotProps {
  panel: { readonly id: PanelId; readonly label: string; readonly meaning: string };
  points: readonly Evaluation[];
  /** Steps that have a checkpoint. */
  saved: ReadonlySet<number>;
  /** Step of the best checkpoint. */
  best: number | null;
  /** Index of the chosen point. */
  at: number;
  onPoint: (at: number) => void;
}

/** One figure of the evaluations over √KL, joined in the order of the steps. */
export function FrontierPlot({ panel, points, saved, best, at, onPoint }: FrontierPlotProps) {
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box);
  const values = points.map((point) => point[panel.id]).filter((value) => value !== null);
  const format = panel.id === "winRate" ? (value: number) => percent(value) : (value: number) => number(value);
  const xRange = [0, (Math.max(...points.map((point) => point.sqrtKl)) || 1) * (1 + PADDING)] as const;
  const yRange = padded(Math.min(...values), Math.max(...values));
  const [xs, ys] = [ticksWithin(...xRange, width < 420 ? 4 : 7), ticksWithin(...yRange, 4)];
  const x = place(xRange, MARGIN.left, width - MARGIN.right);
  const y = place(yRange, HEIGHT - MARGIN.bottom, MARGIN.top);
  const drawn = points.flatMap((point, index) => {
    const value = point[panel.id];
    return value === null ? [] : [{ index, step: point.step, x: x(point.sqrtKl), y: y(value) }];
  });
  const nearest = (event: PointerEvent<SVGSVGElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const away = (one: { x: number; y: number }) =>
      Math.hypot(one.x - event.clientX + left, one.y - event.clientY + top);
    if (drawn.length) onPoint(drawn.reduce((a, b) => (away(b) < away(a) ? b : a)).index);
  };
  return (
    <figure ref={box} className={styles.panel}>
      <figcaption>
        <b>{panel.label}</b> {panel.meaning}
      </figcaption>
      <svg
        width={width}
        height={HEIGHT}
        role="img"
        aria-label={`${panel.label} over √KL, ${drawn.length} evaluations`}
        onPointerMove={nearest}
        onPointerDown={nearest}
      >
        {ys.map((value) => (
          <g key={value} className={styles.grid}>
            <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(value)} y2={y(value)} />
            <text x={MARGIN.left - 6} y={y(value) + 4} textAnchor="end">
              {format(value)}
            </text>
          </g>
        ))}
        {xs.map((value) => (
          <text key={value} className={styles.tick} x={x(value)} y={HEIGHT - MARGIN.bottom + 15} textAnchor="middle">
            {number(value)}
          </text>
        ))}
        <text className={styles.tick} x={(MARGIN.left + width - MARGIN.right) / 2} y={HEIGHT - 3} textAnchor="middle">
          √KL to the start
        </text>
        <polyline className={styles.line} points={drawn.map((one) => `${one.x},${one.y}`).join(" ")} />
        {drawn.map((one) => (
          <Mark
            key={one.step}
            {...one}
            saved={saved.has(one.step)}
            best={one.step === best}
            chosen={one.index === at}
          />
        ))}
        {labelled(drawn, best).map((one) => (
          <text
            key={one.step}
            className={one.step === best ? styles.bestLabel : styles.tick}
            x={one.x > width - 90 ? one.x - 9 : one.x + 9}
            y={one.y < MARGIN.top + 14 ? one.y + 18 : one.y - 8}
            textAnchor={one.x > width - 90 ? "end" : "start"}
          >
            {one.step === best ? `best: step ${one.step}` : `step ${one.step}`}
          </text>
        ))}
      </svg>
      <p className={styles.key} aria-hidden>
        <svg width="12" height="12">
          <Mark x={6} y={6} saved={false} best={false} chosen={false} />
        </svg>
        evaluation
        <svg width="12" height="12">
          <Mark x={6} y={6} saved best={false} chosen={false} />
        </svg>
        with a checkpoint
        <svg width="12" height="12">
          <Mark x={6} y={6} saved best chosen={false} />
        </svg>
        best
      </p>
    </figure>
  );
}

interface MarkProps {
  x: number;
  y: number;
  saved: boolean;
  best: boolean;
  chosen: boolean;
}

/** A circle; a square for a checkpoint; a diamond for the best one. */
function Mark({ x, y, saved, best, chosen }: MarkProps) {
  const size = best ? 5.5 : 4;
  return (
    <g className={best ? styles.bestMark : saved ? styles.savedMark : styles.mark}>
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

/** The points with a label: the best, and the first and last where their labels have room. */
function labelled(points: readonly Place[], best: number | null): Place[] {
  const shown: Place[] = [];
  for (const point of [points.find(({ step }) => step === best), points[0], points.at(-1)])
    if (point && shown.every((one) => Math.abs(one.y - point.y) > 26 || Math.abs(one.x - point.x) > 130))
      shown.push(point);
  return shown;
}

interface Place {
  readonly step: number;
  readonly x: number;
  readonly y: number;
}

const PADDING = 0.06;

function padded(low: number, high: number): readonly [number, number] {
  const gap = (high - low || Math.abs(high) || 1) * PADDING;
  return [low - gap, high + gap];
}

/** Maps a range of values to pixels. */
function place([low, high]: readonly [number, number], from: number, to: number): (value: number) => number {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
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
