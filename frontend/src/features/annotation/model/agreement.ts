/** The conclusion that Krippendorff's bounds allow for `alpha`; null means that all answers carry the same label. */
export function alphaInWords(alpha: number | null): string {
  if (alpha === null) return "Every answer is the same so far, which chance alone would explain.";
  if (alpha >= 0.8) return "Reliable.";
  if (alpha >= 2 / 3) return "Enough for tentative conclusions.";
  if (alpha > 0) return "Better than chance, below what counts as reliable.";
  return "No better than chance: are the instructions clear?";
}

interface Interval {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

const Z_95 = 1.959964;

/** A share and its 95 % interval by Wilson (1927); null of nothing. */
export function wilson(count: number, of: number): Interval | null {
  if (of <= 0) return null;
  const rate = count / of;
  const scale = 1 + Z_95 ** 2 / of;
  const centre = (rate + Z_95 ** 2 / (2 * of)) / scale;
  const half = (Z_95 * Math.sqrt((rate * (1 - rate)) / of + Z_95 ** 2 / (4 * of ** 2))) / scale;
  return { rate, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/** Whether the side on which an answer is shown seems to count: its interval leaves out one half. */
export const isBiased = (share: Interval | null): boolean => share !== null && (share.low > 0.5 || share.high < 0.5);

interface Side {
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
}

/** How often a side is preferred, a tie counting one half for each; null without answers. */
export function winRate({ wins, losses, ties }: Side): number | null {
  const of = wins + losses + ties;
  return of > 0 ? (wins + ties / 2) / of : null;
}
