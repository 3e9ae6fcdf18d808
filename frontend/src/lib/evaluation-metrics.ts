/** The metrics that `evaluationsOf` reads, and the step of the best one. Alone here, so that the first page loads no more. */
export const EVALUATION_METRICS = ["sqrt_kl", "score", "judge", "win_rate", "win_rate_low", "best_step"].map(
  (name) => `eval/${name}`,
);
