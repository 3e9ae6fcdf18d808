import { type DragEvent, useState } from "react";
import { Button } from "@/components/button";
import type { ChartSpec } from "@/features/run/model/chart-specs";
import {
  arranged,
  hiddenOrNot,
  type Layout,
  moved,
  pinnedOrNot,
  readLayout,
  USUAL_LAYOUT,
  writeLayout,
} from "@/features/run/model/layout";
import { ChartCard, type ChartCardProps } from "@/features/run/ui/chart-card";
import styles from "./charts.module.css";

interface ChartGridProps extends Omit<ChartCardProps, "spec" | "place" | "onDragStart"> {
  charts: readonly ChartSpec[];
  /** Only charts whose title or metrics hold this text; empty for all. */
  find: string;
}

const DRAGGED = "application/x-proximal-chart";

/** The charts of a stage in the user's arrangement. */
export function ChartGrid({ charts, find, ...card }: ChartGridProps) {
  const { stage } = card;
  const [layout, setLayout] = useState(() => readLayout(stage));
  const arrange = (to: Layout) => {
    setLayout(to);
    writeLayout(stage, to);
  };
  const shown = arranged(charts, layout);
  const titles = shown.map(({ title }) => title);
  const hidden = charts.filter(({ title }) => layout.hidden.includes(title));
  const drop = (event: DragEvent, to: string) => {
    const title = event.dataTransfer.getData(DRAGGED);
    if (!title) return;
    event.preventDefault();
    arrange(moved(layout, titles, title, to));
  };
  const isFound = ({ title, lines }: ChartSpec) =>
    [title, ...lines.map((line) => line.name)].some((text) => text.toLowerCase().includes(find));
  return (
    <>
      <div className={styles.grid}>
        {shown.filter(isFound).map((spec) => {
          const { title } = spec;
          const at = titles.indexOf(title);
          const place = {
            pinned: layout.pinned.includes(title),
            isFirst: at === 0,
            isLast: at === titles.length - 1,
            onPin: () => arrange(pinnedOrNot(layout, title)),
            onHide: () => arrange(hiddenOrNot(layout, title)),
            onMove: (by: number) => arrange(moved(layout, titles, title, titles[at + by] ?? title)),
          };
          return (
            <div
              key={title}
              className={place.pinned ? styles.pinned : ""}
              onDragOver={(event) => event.dataTransfer.types.includes(DRAGGED) && event.preventDefault()}
              onDrop={(event) => drop(event, title)}
            >
              <ChartCard
                {...card}
                spec={spec}
                place={place}
                onDragStart={(event) => event.dataTransfer.setData(DRAGGED, title)}
              />
            </div>
          );
        })}
      </div>
      {layout !== USUAL_LAYOUT && hidden.length + layout.order.length + layout.pinned.length > 0 && (
        <p className={styles.arranged}>
          {hidden.map(({ title }) => (
            <Button key={title} onClick={() => arrange(hiddenOrNot(layout, title))}>
              Show {title}
            </Button>
          ))}
          <Button look="quiet" onClick={() => arrange(USUAL_LAYOUT)}>
            Reset the arrangement
          </Button>
        </p>
      )}
    </>
  );
}
