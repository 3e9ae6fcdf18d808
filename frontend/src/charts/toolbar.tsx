import type { ReactNode } from "react";
import { AXIS_NAMES, type AxisKind, type CommonAxis, metricAxis, metricOf, positionText } from "@/charts/axis";
import { useCharts } from "@/charts/group";
import { type ChartView, MOST_SMOOTHING } from "@/charts/settings";
import { windowOf } from "@/charts/smooth";
import type { ScaleKind } from "@/charts/y-scale";
import { count } from "@/lib/format";
import styles from "./charts.module.css";

interface NamedMetric {
  readonly name: string;
  readonly label: string;
}

const NO_METRICS: readonly NamedMetric[] = [];

interface ChartToolbarProps {
  view: ChartView;
  onChange: (change: Partial<ChartView>) => void;
  /** The common axes that the data offers. */
  axes: readonly AxisKind[];
  /** The metrics whose values an axis can show. */
  metrics?: readonly NamedMetric[];
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
export function ChartToolbar({ view, onChange, axes, metrics = NO_METRICS, children }: ChartToolbarProps) {
  const shown = view.view;
  const { pointHint, axisName } = useCharts();
  const at = (position: number) => positionText(view.axis, position, axisName || undefined);
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
      {axes.length + metrics.length > 1 && (
        <Axis view={view} axes={axes} metrics={metrics} name={axisName} onChange={(axis) => onChange({ axis })} />
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
          {at(shown.from)} to {at(shown.to)}: show all
        </button>
      )}
    </div>
  );
}

interface AxisProps {
  view: ChartView;
  axes: readonly AxisKind[];
  metrics: readonly NamedMetric[];
  /** Label of the chosen metric. */
  name: string;
  onChange: (axis: AxisKind) => void;
}

function Axis({ view: { axis }, axes, metrics, name, onChange }: AxisProps) {
  const common = axes.filter((one): one is CommonAxis => metricOf(one) === null);
  // An axis that this page does not offer stays chosen until the user takes another one. The charts name the reason.
  const isOther = !axes.includes(axis) && !metrics.some((one) => metricAxis(one.name) === axis);
  const options = [
    ...common.map((one) => [one, AXIS_NAMES[one]] as const),
    ...(isOther
      ? [[axis, `${metricOf(axis) === null ? AXIS_NAMES[axis as CommonAxis] : name} (not measured)`] as const]
      : []),
  ];
  const more = metrics.map((one) => [metricAxis(one.name), one.label] as const);
  return (
    <Select
      label="Horizontal axis"
      value={axis}
      options={options}
      more={["Values of a metric", more]}
      onChange={onChange}
    />
  );
}

type Options<Id> = readonly (readonly [Id, string])[];

interface SelectProps<Id extends string> {
  label: string;
  value: Id;
  options: Options<Id>;
  /** Further options under a heading. */
  more?: readonly [string, Options<Id>];
  onChange: (id: Id) => void;
}

function Select<Id extends string>({ label, value, options, more, onChange }: SelectProps<Id>) {
  const [heading, rest] = more ?? ["", []];
  const choose = (id: string) => {
    const chosen = [...options, ...rest].find(([option]) => option === id);
    if (chosen) onChange(chosen[0]);
  };
  const listed = (some: Options<Id>) =>
    some.map(([id, name]) => (
      <option key={id} value={id}>
        {name}
      </option>
    ));
  return (
    <select aria-label={label} title={label} value={value} onChange={(event) => choose(event.target.value)}>
      {listed(options)}
      {rest.length > 0 && <optgroup label={heading}>{listed(rest)}</optgroup>}
    </select>
  );
}
