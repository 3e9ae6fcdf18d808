import type { Series } from "@/charts/series";

const MOST_LOOKED_AT = 256;

/**
 * The usual distance between two points: 1 step for most metrics, 10 for one that is measured every ten steps. `counts`: how
 * many points each position stands for, if these are buckets.
 */
export function cadence(positions: readonly number[], counts: Series["n"] = null): number {
  const stride = Math.max(1, Math.floor((positions.length - 1) / MOST_LOOKED_AT));
  const distances: number[] = [];
  for (let index = 1; index < positions.length; index += stride)
    distances.push(((positions[index] ?? 0) - (positions[index - 1] ?? 0)) / (counts?.[index] ?? 1));
  distances.sort((a, b) => a - b);
  return distances[distances.length >> 1] ?? 1;
}
