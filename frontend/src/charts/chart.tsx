import { type DragEvent, type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { ChartPlot } from "@/charts/chart-plot";
import type { ChartLine } from "@/charts/columns";
import { ChartGroupContext, useCharts, useVisible } from "@/charts/group";
import type { Healthy } from "@/charts/healthy";
import { CursorLabels } from "@/charts/cursor-labels";
import { Legend } from "@/charts/legend";
import { useSize } from "@/charts/look";
import { useScheme } from "@/charts/palette";
import { pressedKey, useWheel } from "@/charts/pointer";
import { useTouch } from "@/charts/touch";
import type { ScaleKind } from "@/charts/y-scale";
import styles from "./charts.module.css";
import "uplot/dist/uPlot.min.css";

export interface ChartProps {
  title: string;
  /** Level of the heading. */
  level?: 2 | 3;
  lines: readonly ChartLine[];
  /** Unit of the values, shown beside the title. */
  unit?: string;
  healthy?: Healthy | null;
  /** Scale of the values, in place of the group's. */
  scale?: ScaleKind | undefined;
  /** A line of text under the names of the lines. */
  note?: string | undefined;
  /** In place of the plot of a chart without lines: why there is nothing to draw. */
  nothing?: string | undefined;
  /** Height of the plot in pixels. */
  height?: number;
  /** Beside the title: what the chart shows. */
  about?: ReactNode;
  /** At the end of the title: what can be done with the chart. It gets the plot, for an export. */
  actions?: (plot: ChartPlot) => ReactNode;
  onVisible?: (visible: boolean) => void;
  /** Called by the key F. */
  onEnlarge?: () => void;
  /** Makes the title a handle to drag the chart by. */
  onDragStart?: (event: DragEvent<HTMLElement>) => void;
}

/** Pixels that a card takes beside its plot. */
const FRAME = 60;

/** One chart with its title and legend. Until it first comes near the screen, it is a title in an empty card. */
export function Chart(props: ChartProps) {
  const { height: usual } = useSize();
  const { title, level = 2, height = usual, scale } = props;
  const card = useRef<HTMLElement>(null);
  const visible = useVisible(card);
  const [seen, setSeen] = useState(false);
  if (visible && !seen) setSeen(true);
  return (
    <article className={styles.chart} ref={card} aria-label={title} style={{ minHeight: height + FRAME }}>
      {seen ? (
        <OnScale scale={scale}>
          <Content {...props} level={level} height={height} visible={visible} />
        </OnScale>
      ) : (
        <header>
          <Title level={level} title={title} />
        </header>
      )}
    </article>
  );
}

/** A chart may have a scale of its own. */
function OnScale({ scale, children }: { scale: ScaleKind | undefined; children: ReactNode }) {
  const shared = useCharts();
  const own = useMemo(() => (scale ? { ...shared, settings: { ...shared.settings, scale } } : shared), [shared, scale]);
  return <ChartGroupContext value={own}>{children}</ChartGroupContext>;
}

function Title({ title, level }: { title: string; level: 2 | 3 }) {
  const Heading = `h${level}` as const;
  return <Heading className={styles.title}>{title}</Heading>;
}

interface ContentProps extends ChartProps {
  level: 2 | 3;
  height: number;
  visible: boolean;
}

function Content({ title, level, lines, unit = "", healthy = null, height, visible, ...parts }: ContentProps) {
  const { note, nothing, about, actions, onVisible, onEnlarge, onDragStart } = parts;
  const shared = useCharts();
  const host = useRef<HTMLDivElement>(null);
  const scheme = useScheme();
  const [plot] = useState(() => new ChartPlot(shared.group));
  useEffect(() => {
    onVisible?.(visible);
  }, [visible, onVisible]);
  useEffect(() => {
    if (!visible || !host.current) return;
    plot.attach(host.current);
    return () => plot.detach();
  }, [plot, visible]);
  useEffect(() => {
    if (visible) plot.update({ lines, unit, healthy, height, shared, scheme });
  });
  useWheel(host, shared.group);
  useTouch(host, shared.group);
  // Made on demand, since a text for each new point would cost too much.
  const say = async (slider: HTMLElement) => {
    slider.setAttribute("aria-valuenow", String(shared.group.getCursor() ?? 0));
    const { legendText } = await import("@/charts/spoken");
    slider.setAttribute("aria-valuetext", legendText(plot.getDrawn(), lines, shared.group.getCursor(), shared));
  };
  const walk = (event: KeyboardEvent<HTMLDivElement>) => {
    if (!pressedKey(plot, shared.group, event, onEnlarge)) return;
    event.preventDefault();
    void say(event.currentTarget);
  };
  return (
    <>
      <header draggable={onDragStart !== undefined} onDragStart={onDragStart}>
        <Title level={level} title={title} />
        {unit && unit !== "bytes" && <span className={styles.unit}>{unit}</span>}
        {about}
        <span className={styles.space} />
        {actions?.(plot)}
      </header>
      <Legend plot={plot} lines={lines} unit={unit} healthy={healthy} visible={visible} />
      {note && <p className={styles.remark}>{note}</p>}
      <div className={styles.frame}>
        <div
          ref={host}
          className={styles.plot}
          style={{ height }}
          tabIndex={0}
          role="slider"
          aria-valuenow={0}
          aria-valuetext="newest point"
          aria-label={`${title}: arrow keys move the crosshair${shared.pointHint && `, Enter: ${shared.pointHint}`}`}
          onFocus={(event) => void say(event.currentTarget)}
          onKeyDown={walk}
        />
        {visible && <CursorLabels plot={plot} />}
        {!lines.length && <p className={styles.nothing}>{nothing}</p>}
      </div>
    </>
  );
}
