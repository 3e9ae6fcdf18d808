import type uPlot from "uplot";
import type { AxisKind } from "@/charts/axis";
import type { ChartLine, Column } from "@/charts/columns";
import { colourOf, dashesOf, EDGE, FONT, legendOf, SAMPLE } from "@/charts/export-legend";
import { faint, type Palette } from "@/charts/palette";

/** A chart that is drawn, as far as a file of it needs. */
export interface Exported {
  /** With the name of the axis, where it shows no steps. */
  readonly title: string;
  readonly axis: AxisKind;
  readonly unit: string;
  readonly lines: readonly ChartLine[];
  readonly columns: readonly Column[];
  readonly plot: uPlot;
  readonly palette: Palette;
}

/** The chart as a picture, with its title and the names of its lines. */
export async function png(chart: Exported): Promise<Blob> {
  const { title, unit, plot, palette } = chart;
  const source = plot.ctx.canvas;
  const pixel = source.width / plot.width;
  const { entries, height } = legendOf(chart);
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height + height * pixel;
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("This browser cannot draw a picture.");
  ctx.fillStyle = palette.surface;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(source, 0, height * pixel);
  ctx.scale(pixel, pixel);
  ctx.fillStyle = palette.ink;
  ctx.font = `600 13px ${FONT}`;
  ctx.fillText(unit ? `${title} (${unit})` : title, EDGE, 17);
  ctx.font = `11px ${FONT}`;
  ctx.lineWidth = 2;
  ctx.fillStyle = palette.text;
  for (const { label, x, y, colour, dash } of entries) {
    ctx.strokeStyle = colour;
    ctx.setLineDash(dash.map((length) => length / 2));
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + SAMPLE, y);
    ctx.stroke();
    ctx.fillText(label, x + SAMPLE + 5, y + 3);
  }
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The picture could not be made."))), "image/png"),
  );
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** The shown part of the chart as vectors. */
export function svg(chart: Exported): string {
  const { title, unit, lines, columns, plot, palette } = chart;
  const legend = legendOf(chart);
  const { left, top, width, height } = inPixels(plot);
  const text = (x: number, y: number, content: string, rest = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${palette.text}" ${rest}>${escaped(content)}</text>`;
  const parts = [
    text(8, 17, unit ? `${title} (${unit})` : title, `font-size="13" font-weight="600"`),
    ...legend.entries.map(
      ({ label, x, y, colour, dash }) =>
        `<path d="M${x.toFixed(1)} ${y}h${SAMPLE}" stroke="${colour}" stroke-width="2"${dashes(dash, 0.5)}/>` +
        text(x + SAMPLE + 5, y + 3, label),
    ),
    `<g transform="translate(0 ${legend.height})">`,
    ...ticks(plot, 0).map(({ at, label }) => text(at + left, top + height + 16, label, `text-anchor="middle"`)),
    ...ticks(plot, 1).map(
      ({ at, label }) =>
        `<path d="M${left} ${at + top}h${width}" stroke="${palette.grid}"/>` +
        text(left - 5, at + top + 4, label, `text-anchor="end"`),
    ),
    ...ticks(plot, 2).map(({ at, label }) => text(left + width + 5, at + top + 4, label)),
    `<svg x="${left}" y="${top}" width="${width}" height="${height}" overflow="hidden">`,
    ...columns.map((column, index) => path(plot, index + 1, column, lines, palette)),
    "</svg></g>",
  ];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${plot.width}" height="${plot.height + legend.height}" ` +
    `font-family="${FONT.replaceAll('"', "'")}" font-size="11"><rect width="100%" height="100%" fill="${palette.surface}"/>` +
    `${parts.join("")}</svg>\n`
  );
}

function inPixels({ bbox }: uPlot): { left: number; top: number; width: number; height: number } {
  const pixel = devicePixelRatio;
  const { left, top, width, height } = bbox;
  return { left: left / pixel, top: top / pixel, width: width / pixel, height: height / pixel };
}

interface Placed {
  readonly _splits?: number[];
  readonly _values?: string[];
}

/** The ticks of an axis as uPlot has placed them. Its types leave these fields out. */
function ticks(plot: uPlot, axis: 0 | 1 | 2): { at: number; label: string }[] {
  const { _splits: splits = [], _values: values = [] } = (plot.axes[axis] ?? {}) as Placed;
  return splits.map((value, index) => ({
    at: plot.valToPos(value, (["x", "y", "right"] as const)[axis]),
    label: values[index] ?? "",
  }));
}

const STROKES = { line: 1.6, raw: 1, max: 0.5, min: 0.5 };
const ALPHAS = { line: 1, raw: 0.28, max: 0.3, min: 0.3 };

function path(plot: uPlot, series: number, column: Column, lines: readonly ChartLine[], palette: Palette): string {
  const line = lines[column.line];
  if (!line) return "";
  const scale = line.right ? "right" : "y";
  const [from, to] = plot.series[0]?.idxs ?? [0, -1];
  let d = "";
  let command = "M";
  for (let index = Math.max(0, from - 1); index <= to + 1; index++) {
    const value = plot.data[series]?.[index];
    const position = plot.data[0][index];
    if (value === null) command = "M";
    if (value === null || value === undefined || position === undefined) continue;
    d += `${command}${plot.valToPos(position, "x").toFixed(1)} ${plot.valToPos(value, scale).toFixed(1)}`;
    command = "L";
  }
  const colour = faint(colourOf(line, column.line, palette), ALPHAS[column.role]);
  const dash = column.role === "line" ? dashes(dashesOf(line, column.line)) : "";
  return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${STROKES[column.role]}"${dash}/>`;
}

const dashes = (lengths: readonly number[], factor = 1): string =>
  lengths.length ? ` stroke-dasharray="${lengths.map((length) => length * factor).join(" ")}"` : "";

/** Offers a file for download. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
