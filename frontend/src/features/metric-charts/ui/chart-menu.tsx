import type { ChartPlot } from "@/charts/chart-plot";
import { MenuButton, type MenuEntry } from "@/components/menu";
import type { saveAs } from "@/features/metric-charts/ui/save-chart";
import styles from "./charts.module.css";

/** The place of a chart among the others, and the ways to change it. */
export interface ChartPlace {
  readonly pinned: boolean;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly onPin: () => void;
  readonly onHide: () => void;
  /** Moves it by a number of places. */
  readonly onMove: (by: number) => void;
  /** Only for a chart that the user has made. */
  readonly onEdit?: (() => void) | undefined;
  readonly onDelete?: (() => void) | undefined;
}

interface ChartMenuProps {
  title: string;
  plot: ChartPlot;
  /** Null for a chart without a place of its own. */
  place: ChartPlace | null;
  onEnlarge: () => void;
}

/** The actions on one chart. */
export function ChartMenu({ title, plot, place, onEnlarge }: ChartMenuProps) {
  const entries: MenuEntry[] = [{ label: "Full screen", onSelect: onEnlarge }];
  if (place) {
    entries.push({ label: place.pinned ? "Unpin" : "Pin to the top", onSelect: place.onPin });
    if (!place.isFirst) entries.push({ label: "Move earlier", onSelect: () => place.onMove(-1) });
    if (!place.isLast) entries.push({ label: "Move later", onSelect: () => place.onMove(1) });
    entries.push({ label: "Hide", onSelect: place.onHide });
    if (place.onEdit) entries.push({ label: "Edit", onSelect: place.onEdit });
    if (place.onDelete) entries.push({ label: "Delete", onSelect: place.onDelete });
  }
  (["csv", "png", "svg"] as const).forEach((kind, index) => {
    const onSelect = () => void save(kind, title, plot);
    entries.push({ label: `Save as ${kind.toUpperCase()}`, onSelect, group: index === 0 });
  });
  return <MenuButton button="⋯" label={`Actions: ${title}`} entries={entries} className={styles.menuButton} />;
}

const save = async (...chart: Parameters<typeof saveAs>): Promise<void> =>
  (await import("@/features/metric-charts/ui/save-chart")).saveAs(...chart);
