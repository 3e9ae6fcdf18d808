import { useMemo, useRef } from "react";
import { toColumns } from "@/charts/columns";
import { useChartGroup } from "@/charts/group";
import { Plot, PLOT_HEIGHT } from "@/charts/plot";
import type { Series } from "@/charts/series";
import { useVisible } from "@/charts/use-visible";
import { InfoTip } from "@/components/info-tip";
import type { ChartSpec } from "@/features/run/model/catalog";
import { MetricNotes } from "@/features/run/ui/charts/metric-notes";
import { Readouts } from "@/features/run/ui/charts/readouts";
import type { Meaning } from "@/features/run/ui/charts/use-meanings";
import styles from "./charts.module.css";

interface Props {
  spec: ChartSpec;
  series: Readonly<Record<string, Series>>;
  meanings: ReadonlyMap<string, Meaning>;
}

/** One chart of up to three lines. What is off the screen is not drawn at all. */
export function ChartCard({ spec, series, meanings }: Props) {
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
          <InfoTip label={`What is ${spec.title}?`}>
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
