/** A point of a frontier: one evaluation. */
interface FrontierPoint {
  readonly step: number;
  readonly x: number;
  /** Null where the evaluation lacks the figure. */
  readonly y: number | null;
  /** Whether a checkpoint of its step exists. */
  readonly saved: boolean;
}

/** A line of a frontier: the evaluations of a run in the order of their steps. */
export interface FrontierLine {
  readonly key: string;
  readonly label: string;
  /** Number of its colour, from 0. */
  readonly colour: number;
  readonly points: readonly FrontierPoint[];
  /** Step of the best checkpoint. */
  readonly best: number | null;
}

/** A point by the place of its line and its own place in the line. */
export interface FrontierPlace {
  readonly line: number;
  readonly point: number;
}

/** A point where it is drawn. */
export interface Placed extends FrontierPlace {
  readonly step: number;
  readonly saved: boolean;
  readonly best: boolean;
  readonly x: number;
  readonly y: number;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const PADDING = 0.06;

/** The points of all lines in pixels within a box, and the ticks of both axes. The horizontal axis starts at 0. */
export function placedIn(box: Box, lines: readonly FrontierLine[], ticks: { readonly x: number; readonly y: number }) {
  const points = lines.flatMap((line) => line.points.filter(({ y }) => y !== null));
  const values = points.map(({ y }) => y ?? 0);
  const xRange = [0, (Math.max(0, ...points.map(({ x }) => x)) || 1) * (1 + PADDING)] as const;
  const yRange = values.length ? padded(Math.min(...values), Math.max(...values)) : ([0, 1] as const);
  const x = scale(xRange, box.left, box.right);
  const y = scale(yRange, box.bottom, box.top);
  const placed = lines.map((line, number) =>
    line.points.flatMap((point, index): Placed[] => {
      if (point.y === null) return [];
      const { step, saved } = point;
      return [{ line: number, point: index, step, saved, best: step === line.best, x: x(point.x), y: y(point.y) }];
    }),
  );
  return {
    placed,
    xs: ticksWithin(...xRange, ticks.x).map((value) => ({ value, at: x(value) })),
    ys: ticksWithin(...yRange, ticks.y).map((value) => ({ value, at: y(value) })),
  };
}

/** The drawn point that is nearest to a position. */
export function nearestTo(placed: readonly (readonly Placed[])[], x: number, y: number): Placed | null {
  const all = placed.flat();
  const away = (one: Placed) => Math.hypot(one.x - x, one.y - y);
  return all.length ? all.reduce((a, b) => (away(b) < away(a) ? b : a)) : null;
}

/** The points of a line with a label: the best, and the first and last where their labels have room. */
export function labelled(points: readonly Placed[]): Placed[] {
  const shown: Placed[] = [];
  for (const point of [points.find(({ best }) => best), points[0], points.at(-1)])
    if (point && shown.every((one) => Math.abs(one.y - point.y) > 26 || Math.abs(one.x - point.x) > 130))
      shown.push(point);
  return shown;
}

const LABEL = { height: 11, em: 6.2, gap: 10 };

/**
 * Where the label of a point begins or ends: above or below it. No other point lies under its text, and none of the lines
 * that join the points, where there is such a place.
 */
export function labelAt(text: string, own: Placed, points: readonly Placed[], { right, bottom }: Box) {
  const width = text.length * LABEL.em;
  const isEnd = own.x + LABEL.gap + width > right;
  const [from, to] = isEnd ? [own.x - width - LABEL.gap, own.x] : [own.x, own.x + LABEL.gap + width];
  const isFree = (y: number) =>
    y - LABEL.height >= 0 &&
    y <= bottom &&
    points.every((one) => one.x < from - 6 || one.x > to + 6 || one.y < y - LABEL.height - 6 || one.y > y + 6);
  const isOffLine = (y: number) =>
    points.every(
      (one, index) => !crosses(one, points[index + 1] ?? one, { from, to, top: y - LABEL.height, bottom: y }),
    );
  const places = [-10, 20, -24, 34, -38, 48].map((away) => own.y + away).filter(isFree);
  const y = places.find(isOffLine) ?? places[0] ?? own.y - 10;
  return { x: isEnd ? own.x - 2 : own.x + 2, y, anchor: isEnd ? ("end" as const) : ("start" as const) };
}

interface Area {
  readonly from: number;
  readonly to: number;
  readonly top: number;
  readonly bottom: number;
}

/** Whether the line between two points has a part within the area. */
function crosses(a: Placed, b: Placed, { from, to, top, bottom }: Area): boolean {
  const [first, last] = a.x <= b.x ? [a, b] : [b, a];
  if (last.x < from || first.x > to) return false;
  const at = (x: number) => first.y + ((x - first.x) / (last.x - first.x)) * (last.y - first.y);
  const ys = last.x === first.x ? [first.y, last.y] : [at(Math.max(from, first.x)), at(Math.min(to, last.x))];
  return Math.max(...ys) >= top && Math.min(...ys) <= bottom;
}

function padded(low: number, high: number): readonly [number, number] {
  const gap = (high - low || Math.abs(high) || 1) * PADDING;
  return [low - gap, high + gap];
}

/** Maps a range of values to pixels. */
function scale([low, high]: readonly [number, number], from: number, to: number): (value: number) => number {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

/** Round numbers within a range: about `wanted` of them. */
export function ticksWithin(low: number, high: number, wanted: number): number[] {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
