import type { ChartPlot } from "@/charts/chart-plot";
import { MenuButton, type MenuEntry } from "@/components/menu";
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
    const onSelect = () => void saveAs(kind, title, plot);
    entries.push({ label: `Save as ${kind.toUpperCase()}`, onSelect, group: index === 0 });
  });
  return <MenuButton button="⋯" label={`Actions: ${title}`} entries={entries} className={styles.menuButton} />;
}

async function saveAs(kind: "csv" | "png" | "svg", title: string, plot: ChartPlot): Promise<void> {
  const [{ png, save, svg }, { csv }] = await Promise.all([import("@/charts/export"), import("@/charts/export-csv")]);
  const exported = plot.exported(title);
  if (!exported) return;
  const name = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.${kind}`;
  if (kind === "png") save(await png(exported), name);
  else if (kind === "svg") save(new Blob([svg(exported)], { type: "image/svg+xml" }), name);
  else save(new Blob([csv(exported.lines, exported.axis)], { type: "text/csv" }), name);
}
