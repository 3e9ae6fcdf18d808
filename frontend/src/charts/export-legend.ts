import type { ChartLine } from "@/charts/columns";
import type { Exported } from "@/charts/export";
import { dashOf, type Palette } from "@/charts/palette";

export const FONT = 'system-ui, "Segoe UI", sans-serif';
export const SAMPLE = 12;
/** Pixels of a name in the legend beside its text. */
const AROUND = SAMPLE + 19;
export const EDGE = 8;
const ROW = 16;
const FIRST_ROW = 31;

/** Where the names of lines of these widths stand in a picture: in as many rows as they need. */
export function legendPlaces(widths: readonly number[], width: number): { x: number; y: number }[] {
  let x = EDGE;
  let y = FIRST_ROW;
  return widths.map((own) => {
    if (x > EDGE && x + AROUND + own > width) [x, y] = [EDGE, y + ROW];
    const place = { x, y };
    x += AROUND + own;
    return place;
  });
}

interface LegendEntry {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly colour: string;
  readonly dash: readonly number[];
}

/** The names of the lines with their places, and the height of title and legend. */
export function legendOf({ lines, plot, palette }: Exported): { entries: LegendEntry[]; height: number } {
  const { ctx } = plot;
  const named = [...lines.entries()].filter(([, line]) => line.label);
  ctx.save();
  ctx.font = `11px ${FONT}`;
  const widths = named.map(([, line]) => ctx.measureText(line.label).width);
  ctx.restore();
  const places = legendPlaces(widths, plot.width);
  const entries = named.map(([index, line], place) => ({
    ...{ x: EDGE, y: FIRST_ROW, ...places[place] },
    ...{ label: line.label, colour: colourOf(line, index, palette), dash: dashesOf(line, index) },
  }));
  return { entries, height: (places.at(-1)?.y ?? FIRST_ROW) + 13 };
}

export const dashesOf = ({ colour, dashed }: ChartLine, index: number): readonly number[] =>
  dashed ? [6, 4] : dashOf(colour ?? index);

export const colourOf = ({ colour }: ChartLine, index: number, { lines, text }: Palette): string =>
  lines[(colour ?? index) % lines.length] ?? text;
