import type uPlot from "uplot";
import type { ChartLine, Column } from "@/charts/columns";
import { faint, type Palette } from "@/charts/palette";

/** A chart that is drawn, as far as a file of it needs. */
export interface Exported {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly ChartLine[];
  readonly columns: readonly Column[];
  readonly plot: uPlot;
  readonly palette: Palette;
}

const quoted = (cell: string): string => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** Every point of the lines before smoothing: a row for each step, with least, greatest and mean value of buckets. */
export function csv(lines: readonly ChartLine[]): string {
  const rows = new Map<number, string[]>();
  const head = ["step"];
  for (const { key, series } of lines) {
    const columns: [string, readonly number[]][] = [[key, series.values]];
    if (series.min && series.max) columns.push([`${key} min`, series.min], [`${key} max`, series.max]);
    if (series.mean) columns.push([`${key} mean`, series.mean]);
    series.steps.forEach((step, index) => {
      const row = rows.get(step) ?? [String(step)];
      while (row.length < head.length) row.push("");
      row.push(...columns.map(([, values]) => String(values[index] ?? "")));
      rows.set(step, row);
    });
    head.push(...columns.map(([name]) => name));
  }
  const body = [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
  for (const row of body) while (row.length < head.length) row.push("");
  return `${[head, ...body].map((row) => row.map(quoted).join(",")).join("\n")}\n`;
}

const TITLE_HEIGHT = 44;
const FONT = 'system-ui, "Segoe UI", sans-serif';

/** The chart as a picture, with its title and the names of its lines. */
export async function png({ title, unit, lines, plot, palette }: Exported): Promise<Blob> {
  const source = plot.ctx.canvas;
  const pixel = source.width / plot.width;
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height + TITLE_HEIGHT * pixel;
  const ctx = canvas.getContext("2d");
  if (!ctx) throw new Error("This browser cannot draw a picture.");
  ctx.fillStyle = palette.surface;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.drawImage(source, 0, TITLE_HEIGHT * pixel);
  ctx.scale(pixel, pixel);
  ctx.fillStyle = palette.ink;
  ctx.font = `600 13px ${FONT}`;
  ctx.fillText(unit ? `${title} (${unit})` : title, 8, 17);
  ctx.font = `11px ${FONT}`;
  let left = 8;
  for (const [index, line] of named(lines)) {
    ctx.fillStyle = colourOf(line, index, palette);
    ctx.fillRect(left, 30, 12, 2);
    ctx.fillStyle = palette.text;
    ctx.fillText(line.label, left + 17, 34);
    left += 31 + ctx.measureText(line.label).width;
  }
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The picture could not be made."))), "image/png"),
  );
}

const named = (lines: readonly ChartLine[]) => [...lines.entries()].filter(([, line]) => line.label);

const colourOf = ({ colour }: ChartLine, index: number, { lines, text }: Palette): string =>
  lines[(colour ?? index) % lines.length] ?? text;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** The shown part of the chart as vectors. */
export function svg({ title, unit, lines, columns, plot, palette }: Exported): string {
  const { left, top, width, height } = inPixels(plot);
  const text = (x: number, y: number, content: string, rest = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${palette.text}" ${rest}>${escaped(content)}</text>`;
  const parts = [
    text(8, 17, unit ? `${title} (${unit})` : title, `font-size="13" font-weight="600"`),
    ...named(lines).map(([index, line], place) => {
      const x = 8 + place * 120;
      const mark = `<rect x="${x}" y="30" width="12" height="2" fill="${colourOf(line, index, palette)}"/>`;
      return mark + text(x + 17, 34, line.label);
    }),
    `<g transform="translate(0 ${TITLE_HEIGHT})">`,
    ...ticks(plot, 0).map(({ at, label }) => text(at + left, top + height + 16, label, `text-anchor="middle"`)),
    ...ticks(plot, 1).map(
      ({ at, label }) =>
        `<path d="M${left} ${at + top}h${width}" stroke="${palette.grid}"/>` +
        text(left - 5, at + top + 4, label, `text-anchor="end"`),
    ),
    `<svg x="${left}" y="${top}" width="${width}" height="${height}" overflow="hidden">`,
    ...columns.map((column, index) => path(plot, index + 1, column, lines, palette)),
    "</svg></g>",
  ];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${plot.width}" height="${plot.height + TITLE_HEIGHT}" ` +
    `font-family="${FONT.replaceAll('"', "'")}" font-size="11"><rect width="100%" height="100%" fill="${palette.surface}"/>` +
    `${parts.join("")}</svg>\n`
  );
}

function inPixels({ bbox }: uPlot): { left: number; top: number; width: number; height: number } {
  const pixel = devicePixelRatio;
  const { left, top, width, height } = bbox;
  return { left: left / pixel, top: top / pixel, width: width / pixel, height: height / pixel };
}

/** The ticks of an axis as uPlot has placed them. Its types leave these fields out. */
function ticks(plot: uPlot, axis: number): { at: number; label: string }[] {
  const { _splits: splits = [], _values: values = [] } = plot.axes[axis] as { _splits?: number[]; _values?: string[] };
  return splits.map((value, index) => ({
    at: plot.valToPos(value, axis === 0 ? "x" : "y"),
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
  return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${STROKES[column.role]}"/>`;
}

/** Offers a file for download. */
export function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
