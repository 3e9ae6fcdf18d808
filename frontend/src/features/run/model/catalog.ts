export interface Line {
  readonly name: string;
  /** Shorter than the metric's own label, for a chart that has a title. */
  readonly short: string;
  /** Measured on another scale than its neighbours: gets the axis on the right. */
  readonly right?: boolean;
}

export interface ChartSpec {
  readonly title: string;
  readonly lines: readonly Line[];
}

const one = (title: string, name: string, short = ""): ChartSpec => ({ title, lines: [{ name, short }] });

const optimiser = [one("Learning rate", "lr"), one("Gradient norm", "grad_norm")];

/** What to look at first in each stage, in this order. */
const CHARTS: Readonly<Record<string, readonly ChartSpec[]>> = {
  sft: [
    {
      title: "Loss",
      lines: [
        { name: "loss", short: "training" },
        { name: "eval/loss", short: "held out" },
      ],
    },
    one("Tokens per second", "time/tokens_per_second"),
    ...optimiser,
  ],
  reward_model: [
    {
      title: "Loss",
      lines: [
        { name: "loss", short: "training" },
        { name: "eval/loss", short: "held out" },
      ],
    },
    {
      title: "Accuracy",
      lines: [
        { name: "accuracy", short: "training" },
        { name: "eval/accuracy", short: "held out" },
      ],
    },
    {
      title: "AUC",
      lines: [
        { name: "auc", short: "training" },
        { name: "eval/auc", short: "held out" },
      ],
    },
    one("Margin", "margin"),
    ...optimiser,
  ],
  dpo: [
    {
      title: "Loss",
      lines: [
        { name: "loss", short: "training" },
        { name: "eval/loss", short: "held out" },
      ],
    },
    {
      title: "Accuracy",
      lines: [
        { name: "accuracy", short: "training" },
        { name: "eval/accuracy", short: "held out" },
      ],
    },
    {
      title: "Implied rewards",
      lines: [
        { name: "rewards/chosen", short: "preferred" },
        { name: "rewards/rejected", short: "other" },
      ],
    },
    {
      title: "Margin",
      lines: [
        { name: "margin", short: "training" },
        { name: "eval/margin", short: "held out" },
      ],
    },
    ...optimiser,
  ],
  kto: [
    {
      title: "Loss",
      lines: [
        { name: "loss", short: "training" },
        { name: "eval/loss", short: "held out" },
      ],
    },
    {
      title: "Implied rewards",
      lines: [
        { name: "rewards/chosen", short: "thumbs up" },
        { name: "rewards/rejected", short: "thumbs down" },
      ],
    },
    {
      title: "Margin",
      lines: [
        { name: "margin", short: "training" },
        { name: "eval/margin", short: "held out" },
      ],
    },
    {
      title: "Reference point",
      lines: [
        { name: "kl", short: "training" },
        { name: "eval/kl", short: "held out" },
      ],
    },
    {
      title: "AUC",
      lines: [
        { name: "auc", short: "training" },
        { name: "eval/auc", short: "held out" },
      ],
    },
    ...optimiser,
  ],
  ppo: [
    {
      title: "Reward",
      lines: [
        { name: "objective/scores", short: "score" },
        { name: "objective/rlhf_reward", short: "score − KL penalty" },
      ],
    },
    {
      title: "Held-out scores",
      lines: [
        { name: "eval/score", short: "rewards" },
        { name: "eval/judge", short: "judge", right: true },
      ],
    },
    one("Held-out win rate", "eval/win_rate"),
    {
      title: "KL to the reference",
      lines: [
        { name: "objective/kl", short: "training" },
        { name: "eval/kl", short: "held out" },
      ],
    },
    {
      title: "Spread over responses",
      lines: [
        { name: "objective/raw_scores_std", short: "raw scores" },
        { name: "objective/kl_penalty_std", short: "KL penalties" },
      ],
    },
    one("Clip fraction", "policy/clipfrac_avg"),
    one("Entropy", "policy/entropy_avg"),
    {
      title: "Response length",
      lines: [
        { name: "val/response_length", short: "training" },
        { name: "eval/response_length", short: "held out" },
      ],
    },
    one("Policy loss", "loss/policy_avg"),
    one("Value loss", "loss/value_avg"),
    one("Explained variance", "val/explained_var"),
    one("KL to the previous policy", "policy/approxkl_avg"),
    one("Finished share", "val/eos_rate"),
    {
      title: "Seconds per step",
      lines: [
        { name: "time/train", short: "train" },
        { name: "time/score", short: "score" },
        { name: "time/rollout", short: "rollout" },
      ],
    },
  ],
};

const REWARD = /^reward\/[^/]+$/;

/** The charts of a stage whose metrics have these names. Every other metric is under "All metrics". */
export function chartsOf(stage: string, names: readonly string[]): ChartSpec[] {
  const known = (CHARTS[stage] ?? []).filter((chart) => chart.lines.some((line) => names.includes(line.name)));
  const rewards = names.filter((name) => REWARD.test(name)).sort();
  // A single reward is the score itself; of several, each has a chart of its own, behind their sum.
  const each = rewards.length > 1 ? rewards.map((name) => one(`Reward: ${name.slice("reward/".length)}`, name)) : [];
  return [...known.slice(0, 1), ...each, ...known.slice(1)];
}
