import type uPlot from "uplot";
import type { Palette } from "@/charts/palette";

export type MarkKind = "checkpoint" | "evaluation" | "knob" | "finding" | "pause";

/** Something that happened at a step, drawn as a vertical line through every chart of a group. */
export interface Mark {
  readonly step: number;
  readonly kind: MarkKind;
  readonly text: string;
  /** The seed whose step it is, in a job of several. */
  readonly seed?: number | null;
}

const NEAR = 5;
/** Lines of one kind closer than this are drawn as one. */
const APART = 4;

/** The marks within a few pixels of a position, as one text; null without any. */
export function markText(plot: uPlot, marks: readonly PlacedMark[], position: number): string | null {
  const left = plot.valToPos(position, "x");
  const near = marks.filter((mark) => Math.abs(plot.valToPos(mark.at, "x") - left) <= NEAR);
  return near.length ? counted(near.map((mark) => mark.text)) : null;
}

const MOST_TEXTS = 3;

/** The different texts with how often each occurs, the most frequent first. */
export function counted(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, MOST_TEXTS).map(([text, times]) => (times > 1 ? `${text} ×${times}` : text));
  return [...shown, ...(sorted.length > MOST_TEXTS ? [`${sorted.length - MOST_TEXTS} more`] : [])].join(" · ");
}

/** A mark with its position on the axis. */
export interface PlacedMark extends Mark {
  readonly at: number;
}

/** Evaluations are many, and have an arrow without a line. */
const DASHES: Record<MarkKind, readonly number[] | null> = {
  checkpoint: [1, 4],
  evaluation: null,
  knob: [],
  finding: [4, 3],
  pause: [8, 4],
};

const colourOf = (kind: MarkKind, palette: Palette): string =>
  kind === "finding" ? palette.warn : kind === "knob" ? palette.accent : palette.text;

export function drawMarks(plot: uPlot, marks: readonly PlacedMark[], palette: Palette): void {
  const { ctx, bbox } = plot;
  const { min = 0, max = 0 } = plot.scales.x ?? {};
  const pixel = devicePixelRatio;
  const latest = new Map<MarkKind, number>();
  ctx.save();
  ctx.lineWidth = pixel;
  for (const { at, kind } of marks) {
    if (at < min || at > max) continue;
    const x = Math.round(plot.valToPos(at, "x", true)) + 0.5;
    if (x - (latest.get(kind) ?? -Infinity) < APART * pixel) continue;
    latest.set(kind, x);
    const colour = colourOf(kind, palette);
    ctx.globalAlpha = 0.6;
    ctx.strokeStyle = colour;
    const dashes = DASHES[kind];
    if (dashes) {
      ctx.setLineDash(dashes.map((length) => length * pixel));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = colour;
    ctx.beginPath();
    ctx.moveTo(x - 3 * pixel, bbox.top);
    ctx.lineTo(x + 3 * pixel, bbox.top);
    ctx.lineTo(x, bbox.top + 4 * pixel);
    ctx.fill();
  }
  ctx.restore();
}
