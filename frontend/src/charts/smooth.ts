/**
 * Exponential moving average, debiased so that the first values are not pulled towards 0. `null` marks a gap: nothing is
 * drawn there, and the average starts anew behind it, for what lies before the gap says nothing about what follows.
 */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (value === null) {
      sum = 0;
      norm = 0;
      return null;
    }
    sum = weight * sum + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return norm > 0 ? sum / norm : value;
  });
}
