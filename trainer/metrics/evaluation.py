"""The comparison at the end."""

from trainer.metrics.base import Metric

EVALUATION = [
    Metric(
        "evaluation",
        "score_before",
        "Score, SFT",
        "mean score",
        "Reward-model score of the SFT policy on held-out prompts.",
    ),
    Metric(
        "evaluation",
        "score_after",
        "Score, PPO",
        "mean score",
        "Reward-model score of the trained policy on held-out prompts.",
    ),
    Metric("evaluation", "judge_before", "Judge, SFT", "mean judge score", "The judge's score of the SFT policy."),
    Metric("evaluation", "judge_after", "Judge, PPO", "mean judge score", "The judge's score of the trained policy."),
    Metric(
        "evaluation",
        "win_rate",
        "Win rate",
        "(wins + ½ ties) ÷ prompts",
        "How often the trained policy beats SFT on the same prompt, by the judge where there is one, else by the reward model.",
        (0.5, 1.0),
    ),
    Metric("evaluation", "win_rate_low", "Win rate, low", "Wilson 95 % interval", "Lower end of the 95 % interval."),
    Metric("evaluation", "win_rate_high", "Win rate, high", "Wilson 95 % interval", "Upper end of the 95 % interval."),
    Metric(
        "evaluation",
        "rm_win_rate",
        "Win rate by reward model",
        "(wins + ½ ties) ÷ prompts",
        "The same, judged by the reward model, missing-EOS penalty included.",
    ),
    Metric(
        "evaluation",
        "kl",
        "KL to the reference",
        "mean over responses of Σₜ log π(aₜ) − log π_ref(aₜ)",
        "How far the trained policy is from SFT on held-out prompts, in nats per response.",
        (-0.5, 15.0),
    ),
    Metric(
        "evaluation",
        "reward_model_accuracy",
        "Reward-model accuracy",
        "share of held-out pairs",
        "Held-out pair accuracy of the reward model.",
    ),
    Metric("evaluation", "length_before", "Length, SFT", "mean tokens", "Response length of the SFT policy."),
    Metric("evaluation", "length_after", "Length, PPO", "mean tokens", "Response length of the trained policy."),
]
