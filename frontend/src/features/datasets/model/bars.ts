export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** Of the tallest bar, 0 to 1. */
  readonly height: number;
}

interface Binned {
  /** One more than `counts`. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/** A histogram's bars, all drawn equally wide: the last one reaches to the longest of all, and would dwarf the others. */
export function bars({ edges, counts }: Binned): Bar[] {
  const tallest = Math.max(1, ...counts);
  return counts.map((count, index) => {
    const from = edges[index] ?? 0;
    return { from, to: edges[index + 1] ?? from, count, height: count ? Math.max(0.012, count / tallest) : 0 };
  });
}

/** Where a value stands between the first bar's left side (0) and the last one's right side (1); null beyond them. */
export function placeOf(value: number, { edges, counts }: Binned): number | null {
  const at = counts.findIndex((_, index) => value >= (edges[index] ?? 0) && value <= (edges[index + 1] ?? 0));
  if (at === -1) return null;
  const [from = 0, to = 0] = edges.slice(at, at + 2);
  return (at + (to > from ? (value - from) / (to - from) : 0)) / counts.length;
}
