export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** Of the whole width, 0 to 1. */
  readonly left: number;
  readonly width: number;
  /** Of the tallest bar, 0 to 1. */
  readonly height: number;
}

/** A histogram's bars, each as wide as its range. `edges` has one entry more than `counts`. */
export function bars({ edges, counts }: { readonly edges: readonly number[]; readonly counts: readonly number[] }): Bar[] {
  const start = edges[0] ?? 0;
  const range = (edges.at(-1) ?? 0) - start || 1;
  const tallest = Math.max(1, ...counts);
  return counts.map((count, index) => {
    const from = edges[index] ?? start;
    const to = edges[index + 1] ?? from;
    const height = count ? Math.max(0.012, count / tallest) : 0;
    return { from, to, count, left: (from - start) / range, width: (to - from) / range, height };
  });
}
