import type { ChartPlot } from "@/charts/chart-plot";
import { png, save, svg } from "@/charts/export";
import { csv } from "@/charts/export-csv";

/** Offers a chart as a file for download. */
export async function saveAs(kind: "csv" | "png" | "svg", title: string, plot: ChartPlot): Promise<void> {
  const exported = plot.exported(title);
  if (!exported) return;
  const name = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.${kind}`;
  if (kind === "png") save(await png(exported), name);
  else if (kind === "svg") save(new Blob([svg(exported)], { type: "image/svg+xml" }), name);
  else save(new Blob([csv(exported.lines, exported.axis)], { type: "text/csv" }), name);
}
