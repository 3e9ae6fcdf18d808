import { type DragEvent, type ReactNode, useState } from "react";
import { ChartColumns } from "@/charts/chart-columns";
import { Button } from "@/components/button";
import type { ChartSpec } from "@/features/metric-charts/model/chart-specs";
import { arranged, isReset, type Layout, useLayout } from "@/features/metric-charts/model/layout";
import type { Meaning } from "@/features/metric-charts/model/meanings";
import type { OwnChart } from "@/features/metric-charts/model/own-charts";
import type { CardParts } from "@/features/metric-charts/ui/chart-card";
import { ChartEditor, deleteChart } from "@/features/metric-charts/ui/own-chart";
import { type DrawLarge, FullScreen } from "@/features/metric-charts/ui/full-screen";
import styles from "./charts.module.css";

/** How a page draws a chart, as a card and in full screen. */
export interface Drawing {
  draw: (spec: ChartSpec, parts: CardParts) => ReactNode;
  drawLarge: DrawLarge;
}

/** The charts of a page and the metrics that they may show. */
export interface StageCharts {
  /** Names the arrangement: see layout.ts. */
  place: string;
  charts: readonly ChartSpec[];
  /** Metrics that a chart may show. */
  names: readonly string[];
  meanings: ReadonlyMap<string, Meaning>;
}

interface ChartGridProps extends StageCharts, Drawing {
  /** Only charts whose title or metrics hold this text; empty for all. */
  find: string;
}

const DRAGGED = "application/x-proximal-chart";

type Arranging = typeof import("@/features/metric-charts/model/arrange");

/** The charts of a stage in the user's arrangement. */
export function ChartGrid({ place: stage, charts, names, meanings, find, draw, drawLarge }: ChartGridProps) {
  const layout = useLayout(stage);
  const change = (to: (code: Arranging, now: Layout) => Layout) =>
    void import("@/features/metric-charts/model/arrange").then((code) => code.arrange(stage, (now) => to(code, now)));
  const [edited, setEdited] = useState<OwnChart | null>(null);
  const [enlarged, setEnlarged] = useState<string | null>(null);
  const [editing, setEditing] = useState(false);
  const edit = (own: OwnChart) => {
    setEdited(own);
    setEditing(true);
  };
  const shown = arranged(charts, layout);
  const titles = shown.map(({ title }) => title);
  const hidden = charts.filter(({ title }) => layout.hidden.includes(title));
  const drop = (event: DragEvent, to: string) => {
    const title = event.dataTransfer.getData(DRAGGED);
    if (!title) return;
    event.preventDefault();
    change(({ moved }, now) => moved(now, titles, title, to));
  };
  const isFound = ({ title, lines }: ChartSpec) =>
    [title, ...lines.map((line) => line.name)].some((text) => text.toLowerCase().includes(find));
  const found = shown.filter(isFound);
  return (
    <>
      <ChartColumns>
        {found.map((spec) => {
          const { title, own } = spec;
          const at = titles.indexOf(title);
          const place = {
            pinned: layout.pinned.includes(title),
            isFirst: at === 0,
            isLast: at === titles.length - 1,
            onPin: () => change(({ pinnedOrNot }, now) => pinnedOrNot(now, title)),
            onHide: () => change(({ hiddenOrNot }, now) => hiddenOrNot(now, title)),
            onMove: (by: number) => change(({ moved }, now) => moved(now, titles, title, titles[at + by] ?? title)),
            ...(own && { onEdit: () => edit(own), onDelete: () => void deleteChart(stage, own) }),
          };
          return (
            <div
              // Under a new title it is the same chart, so that its menu keeps the focus.
              key={own ? layout.own.length - layout.own.indexOf(own) : title}
              className={place.pinned ? styles.pinned : ""}
              onDragOver={(event) => event.dataTransfer.types.includes(DRAGGED) && event.preventDefault()}
              onDrop={(event) => drop(event, title)}
            >
              {draw(spec, {
                place,
                onEnlarge: () => setEnlarged(title),
                onDragStart: (event) => event.dataTransfer.setData(DRAGGED, title),
              })}
            </div>
          );
        })}
      </ChartColumns>
      {!isReset(layout) && (
        <p className={styles.arranged}>
          {hidden.map(({ title }) => (
            <Button key={title} onClick={() => change(({ hiddenOrNot }, now) => hiddenOrNot(now, title))}>
              Show {title}
            </Button>
          ))}
          <Button look="quiet" onClick={() => change(({ reset }, now) => reset(now))}>
            Reset the arrangement
          </Button>
        </p>
      )}
      <FullScreen charts={found} title={enlarged} onTitle={setEnlarged} drawLarge={drawLarge} />
      <ChartEditor
        key={edited?.title}
        chart={edited}
        open={editing}
        place={stage}
        charts={charts}
        names={names}
        meanings={meanings}
        onClose={() => setEditing(false)}
      />
    </>
  );
}
