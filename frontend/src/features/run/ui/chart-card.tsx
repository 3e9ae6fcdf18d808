import { useMemo, useRef, useSyncExternalStore } from "react";
import { toColumns } from "@/charts/columns";
import { useChartGroup, useVisible } from "@/charts/group";
import { Plot, PLOT_HEIGHT } from "@/charts/plot";
import { isHealthy } from "@/charts/plot-options";
import { indexAtOrBefore, type Series } from "@/charts/series";
import { InfoTip } from "@/components/popover";
import { Prose } from "@/components/text";
import type { ChartSpec, Line } from "@/features/run/model/chart-specs";
import type { Meaning } from "@/features/run/model/meanings";
import { measured, number } from "@/lib/format";
import styles from "./charts.module.css";

interface ChartCardProps {
  spec: ChartSpec;
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
}

/** One chart of up to three lines. Charts off the screen are not drawn. */
export function ChartCard({ spec, series, meanings }: ChartCardProps) {
  const card = useRef<HTMLElement>(null);
  const visible = useVisible(card);
  const lines = useMemo(() => spec.lines.filter((line) => series[line.name]), [spec, series]);
  // A second axis only beside a first one; by name, so that a new point does not build the chart anew.
  const onRight = lines.length > 1 ? (lines.find((line) => line.right)?.name ?? null) : null;
  const right = useMemo(() => new Set(onRight === null ? [] : [onRight]), [onRight]);
  const notes = lines.flatMap((line) => meanings.get(line.name) ?? []);
  return (
    <article className={styles.card} ref={card} aria-label={spec.title}>
      <header>
        <h2>{spec.title}</h2>
        {notes.length > 0 && (
          <InfoTip label={`About: ${spec.title}`}>
            <MetricNotes notes={notes} />
          </InfoTip>
        )}
      </header>
      <Readouts lines={lines} series={series} meanings={meanings} />
      {visible ? (
        <Lines
          names={spec.lines.map((line) => line.name)}
          {...{ series, right }}
          healthy={notes.find((note) => note.healthy)?.healthy ?? null}
          title={spec.title}
        />
      ) : (
        <div style={{ height: PLOT_HEIGHT }} />
      )}
    </article>
  );
}

interface LinesProps {
  names: readonly string[];
  series: Readonly<Record<string, Series>>;
  right: ReadonlySet<string>;
  healthy: Meaning["healthy"];
  title: string;
}

function Lines({ names, series, right, healthy, title }: LinesProps) {
  const { smoothing } = useChartGroup();
  // By identity of each series: an event that touches others does not redraw this chart.
  const [name1 = "", name2 = "", name3 = ""] = names;
  const [first, second, third] = [series[name1], series[name2], series[name3]];
  const chart = useMemo(() => {
    const entries = [
      [name1, first],
      [name2, second],
      [name3, third],
    ] as const;
    return toColumns(Object.fromEntries(entries.flatMap(([name, one]) => (one ? [[name, one]] : []))), smoothing);
  }, [name1, name2, name3, first, second, third, smoothing]);
  return (
    <Plot chart={chart} right={right} healthy={healthy} label={`${title} over steps. Arrow keys move the crosshair.`} />
  );
}

interface ReadoutsProps {
  lines: readonly Line[];
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
}

/** The values under the crosshair, or the newest ones: the chart's legend. */
function Readouts({ lines, series, meanings }: ReadoutsProps) {
  const { cursor } = useChartGroup();
  const step = useSyncExternalStore(cursor.subscribe, cursor.get);
  return (
    <p className={styles.readouts}>
      {lines.map((line, index) => {
        const one = series[line.name];
        const at = one ? (step === null ? one.steps.length - 1 : indexAtOrBefore(one.steps, step)) : -1;
        const value = one?.values[at];
        const healthy = meanings.get(line.name)?.healthy;
        const isOff = value !== undefined && healthy != null && !isHealthy(value, healthy);
        return (
          <span key={line.name} className={styles.readout} data-metric={line.name} data-points={one?.steps.length ?? 0}>
            <i data-line={index + 1} />
            {line.short && <span>{line.short}</span>}
            <b className={isOff ? styles.off : ""} title={isOff ? "Outside the healthy range" : undefined}>
              {measured(value)}
            </b>
            {one && at >= 0 && <small>step {one.steps[at]}</small>}
          </span>
        );
      })}
    </p>
  );
}

/** Meaning, formula and healthy range of a chart's metrics. */
function MetricNotes({ notes }: { notes: readonly Meaning[] }) {
  return (
    <dl className={styles.notes}>
      {notes.map((note) => (
        <div key={note.name}>
          <dt>
            {note.label} <code>{note.name}</code>
          </dt>
          <dd>
            <Prose text={note.meaning} />
          </dd>
          <dd className={styles.formula}>{note.formula}</dd>
          {note.healthy && <dd>Healthy: {range(note.healthy)}.</dd>}
          {note.advice && (
            <dd>
              <Prose text={note.advice} />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}

function range([low, high]: NonNullable<Meaning["healthy"]>): string {
  if (low === null) return `at most ${number(high)}`;
  if (high === null) return `at least ${number(low)}`;
  return `${number(low)} to ${number(high)}`;
}
