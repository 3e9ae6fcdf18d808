import { type KeyboardEvent, useRef, useState, useSyncExternalStore } from "react";
import { type Bin, binsOf } from "@/features/completions/model/rows";
import type { FigureHistogram } from "@/lib/api/types";
import { count, measured } from "@/lib/format";
import styles from "./histogram.module.css";

interface HistogramProps {
  histogram: FigureHistogram;
  /** Name of the figure. */
  label: string;
  /** The range that is chosen. */
  min: number | null;
  max: number | null;
  onChoose: (min: number | null, max: number | null) => void;
}

/** Bars that select the completions in their range. Shift extends the range; the arrow keys move between the bars. */
export function Histogram({ histogram, label, min, max, onChoose }: HistogramProps) {
  const bars = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const bins = binsOf(histogram, useIsNarrow() ? 2 : 1);
  if (bins.length < 2) return <div className={styles.histogram} />; // the next step may have bars in its place
  const isChosen = (bin: Bin) =>
    (min !== null || max !== null) && bin.from >= (min ?? -Infinity) && bin.to <= (max ?? Infinity);
  const press = (bin: Bin, extend: boolean) => {
    if (extend && min !== null && max !== null) onChoose(Math.min(min, bin.from), Math.max(max, bin.to));
    else if (min === bin.from && max === bin.to) onChoose(null, null);
    else onChoose(bin.from, bin.to);
  };
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(bins.length - 1, current + by));
    setCurrent(next);
    bars.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div className={styles.histogram}>
      <div ref={bars} className={styles.bars} role="group" aria-label={`Histogram of ${label}`} onKeyDown={walk}>
        {bins.map((bin, index) => (
          <button
            key={index}
            type="button"
            tabIndex={index === Math.min(current, bins.length - 1) ? 0 : -1}
            aria-pressed={isChosen(bin)}
            aria-label={`${label} ${measured(bin.from)} to ${measured(bin.to)}: ${count(bin.count, "completion")}`}
            title={`${measured(bin.from)} to ${measured(bin.to)}: ${count(bin.count, "completion")}`}
            onFocus={() => setCurrent(index)}
            onClick={(event) => press(bin, event.shiftKey)}
          >
            <i style={{ height: `${bin.height * 100}%` }} />
          </button>
        ))}
      </div>
      <p className={styles.ends} aria-hidden>
        <span>{measured(histogram.low)}</span>
        <span>{label}</span>
        <span>{measured(histogram.high)}</span>
      </p>
    </div>
  );
}

const narrow = window.matchMedia("(width <= 43.75em)");

function subscribe(listener: () => void): () => void {
  narrow.addEventListener("change", listener);
  return () => narrow.removeEventListener("change", listener);
}

/** Whether twenty bars would be narrower than a finger's target of 24 px. */
const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow.matches);
