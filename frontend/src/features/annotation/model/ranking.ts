/** A ranking in the making: indices of completions, best tier first. */
export interface Ranking {
  readonly tiers: readonly (readonly number[])[];
  /** The next one picked ties with the last tier. */
  readonly joining: boolean;
}

export const unranked: Ranking = { tiers: [], joining: false };

/** Gives a completion the next rank, or that of the one before it; one that has a rank loses it. */
export function pick(ranking: Ranking, index: number, tie = false): Ranking {
  const last = ranking.tiers.at(-1);
  if (ranking.tiers.flat().includes(index)) return { tiers: without(ranking.tiers, index), joining: false };
  if (last && (tie || ranking.joining)) {
    return { tiers: [...ranking.tiers.slice(0, -1), [...last, index]], joining: false };
  }
  return { tiers: [...ranking.tiers, [index]], joining: false };
}

/** Makes the next pick tie with the last one. A second call undoes it. */
export const join = (ranking: Ranking): Ranking =>
  ranking.tiers.length ? { ...ranking, joining: !ranking.joining } : ranking;

/** Takes back the last step. */
export function back(ranking: Ranking): Ranking {
  const last = ranking.tiers.at(-1)?.at(-1);
  if (ranking.joining || last === undefined) return { ...ranking, joining: false };
  return { tiers: without(ranking.tiers, last), joining: false };
}

/** The rank of each of `count` completions, from 1; null where it has none yet. */
export function ranksOf({ tiers }: Ranking, count: number): (number | null)[] {
  const ranks = Array.from({ length: count }, (): number | null => null);
  tiers.forEach((tier, rank) => tier.forEach((index) => (ranks[index] = rank + 1)));
  return ranks;
}

/** All ranks, once they are clear: when a single completion is left, it comes last. Null before. */
export function finished(ranking: Ranking, count: number): number[] | null {
  const ranks = ranksOf(ranking, count);
  const left = ranks.filter((rank) => rank === null).length;
  if (left > 1) return null;
  const last = ranking.tiers.length + (ranking.joining ? 0 : 1);
  return ranks.map((rank) => rank ?? last);
}

function without(tiers: Ranking["tiers"], index: number): number[][] {
  return tiers.map((tier) => tier.filter((each) => each !== index)).filter((tier) => tier.length > 0);
}
