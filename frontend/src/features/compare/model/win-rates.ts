/** A completion of the evaluation, as far as it is compared. */
interface Judged {
  readonly prompt: string;
  readonly judge: number | null;
}

interface WinRate {
  /** Share of the prompts on which the row's run is better. A tie counts half. */
  readonly share: number;
  readonly prompts: number;
}

/**
 * For each pair of runs, how often the row's run is judged better than the column's on the prompts that both answered. Null
 * on the diagonal, and where two runs have no judged prompt in common.
 */
export function winRates(runs: readonly (readonly Judged[])[]): (WinRate | null)[][] {
  const verdicts = runs.map(byPrompt);
  return verdicts.map((row, index) => verdicts.map((column, other) => (index === other ? null : rate(row, column))));
}

function byPrompt(samples: readonly Judged[]): Map<string, number> {
  return new Map(samples.flatMap(({ prompt, judge }) => (judge === null ? [] : [[prompt, judge] as const])));
}

function rate(row: Map<string, number>, column: Map<string, number>): WinRate | null {
  let [points, prompts] = [0, 0];
  for (const [prompt, own] of row) {
    const other = column.get(prompt);
    if (other === undefined) continue;
    prompts += 1;
    points += own > other ? 1 : own === other ? 0.5 : 0;
  }
  return prompts ? { share: points / prompts, prompts } : null;
}
