import type { ReactNode } from "react";
import { AXIS_NAMES, type AxisKind, positionText } from "@/charts/axis";
import { useCharts } from "@/charts/group";
import { type ChartView, MOST_SMOOTHING } from "@/charts/settings";
import { windowOf } from "@/charts/smooth";
import type { ScaleKind } from "@/charts/y-scale";
import { count } from "@/lib/format";
import styles from "./charts.module.css";

interface ChartToolbarProps {
  view: ChartView;
  onChange: (change: Partial<ChartView>) => void;
  /** The axes that the data offers. */
  axes: readonly AxisKind[];
  /** More controls of the page. */
  children?: ReactNode;
}

const SCALE_NAMES: Record<ScaleKind, string> = { linear: "Linear", log: "Log", symlog: "Symlog" };
const SCALES = ["linear", "log", "symlog"] as const;

const AVERAGES = [
  ["exponential", "Exponential"],
  ["running", "Running average"],
] as const;

function strengthText({ smoothing, average }: ChartView): string {
  if (smoothing === 0) return "off";
  return average === "running" ? count(windowOf(smoothing), "point") : smoothing.toFixed(2);
}

/** Smoothing, axes and zoom of a group of charts. */
export function ChartToolbar({ view, onChange, axes, children }: ChartToolbarProps) {
  const shown = view.view;
  const { pointHint } = useCharts();
  return (
    <div className={styles.toolbar} role="group" aria-label="How the charts are drawn">
      <label>
        Smoothing
        <input
          type="range"
          min={0}
          max={MOST_SMOOTHING}
          step={0.01}
          value={view.smoothing}
          onChange={(event) => onChange({ smoothing: event.target.valueAsNumber })}
        />
        <output>{strengthText(view)}</output>
      </label>
      {view.smoothing > 0 && (
        <Select
          label="Kind of the moving average"
          value={view.average}
          options={AVERAGES}
          onChange={(average) => onChange({ average })}
        />
      )}
      {axes.length > 1 && (
        <Select
          label="Horizontal axis"
          value={view.axis}
          options={axes.map((axis) => [axis, AXIS_NAMES[axis]])}
          onChange={(axis) => onChange({ axis })}
        />
      )}
      <Select
        label="Vertical axis"
        value={view.scale}
        options={SCALES.map((scale) => [scale, SCALE_NAMES[scale]])}
        onChange={(scale) => onChange({ scale })}
      />
      <label>
        <input type="checkbox" checked={view.clip} onChange={(event) => onChange({ clip: event.target.checked })} />
        Clip outliers
      </label>
      {children}
      {pointHint && <small className={styles.hint}>Click a point: {pointHint}</small>}
      {shown && (
        <button type="button" className={styles.all} onClick={() => onChange({ view: null })}>
          {positionText(view.axis, shown.from)} to {positionText(view.axis, shown.to)}: show all
        </button>
      )}
    </div>
  );
}

interface SelectProps<Id extends string> {
  label: string;
  value: Id;
  options: readonly (readonly [Id, string])[];
  onChange: (id: Id) => void;
}

function Select<Id extends string>({ label, value, options, onChange }: SelectProps<Id>) {
  const choose = (id: string) => {
    const chosen = options.find(([option]) => option === id);
    if (chosen) onChange(chosen[0]);
  };
  return (
    <select aria-label={label} title={label} value={value} onChange={(event) => choose(event.target.value)}>
      {options.map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
