"""What PPO measures on prompts that it never trains on, and what it left out of its own accord."""

from trainer.metrics.base import Metric

HELD_OUT = [
    Metric(
        "ppo",
        "eval/score",
        "Held-out score",
        "mean score on held-out prompts",
        "The rewards' weighted sum on prompts that PPO never trains on, the rule for a missing EOS applied.",
    ),
    Metric(
        "ppo",
        "eval/judge",
        "Held-out judge",
        "mean judge score on held-out prompts",
        "What the judge thinks of the same completions: the figure that the rewards stand in for.",
        None,
        "Falling while the score rises is over-optimisation (Gao et al. 2023).",
    ),
    Metric(
        "ppo",
        "eval/win_rate",
        "Held-out win rate",
        "(wins + ½ ties) ÷ held-out prompts",
        "How often the policy beats itself as PPO began, on the same prompt: by the judge where there is one, else by the rewards. The checkpoint with the highest is kept as the best.",
        (0.5, 1.0),
        "Falling while the score rises: raise `ppo.kl.coef`, or take the best checkpoint.",
    ),
    Metric(
        "ppo",
        "eval/win_rate_low",
        "Held-out win rate, low",
        "Wilson 95 % interval",
        "Lower end of the win rate's 95 % interval. Above ½, the policy is better than it was, beyond chance.",
    ),
    Metric(
        "ppo",
        "eval/win_rate_high",
        "Held-out win rate, high",
        "Wilson 95 % interval",
        "Upper end of the win rate's 95 % interval. Below ½, the policy is worse than it was, beyond chance.",
    ),
    Metric(
        "ppo",
        "eval/kl",
        "Held-out KL",
        "mean over responses of Σₜ log π(aₜ) − log π₀(aₜ)",
        "How far the policy is from itself as PPO began (or from `ppo.reference.path`), in nats per response, wherever the reference has moved.",
        (-0.5, 15.0),
    ),
    Metric(
        "ppo",
        "eval/sqrt_kl",
        "Held-out √KL",
        "√max(0, eval/kl)",
        "The distance that over-optimisation is plotted against (Gao et al. 2023).",
    ),
    Metric(
        "ppo",
        "eval/response_length",
        "Held-out length",
        "mean tokens per response",
        "Response length on held-out prompts.",
    ),
    Metric(
        "ppo",
        "eval/eos_rate",
        "Held-out finished share",
        "finished ÷ all",
        "Share of the held-out responses that ended by themselves.",
        (0.8, 1.0),
    ),
    Metric(
        "ppo",
        "health/skipped_steps",
        "Skipped steps",
        "optimizer steps left out since the stage began",
        "Steps that were not taken because a loss or gradient was not finite (`health.not_finite`). Missing while there is none.",
        (None, 0.0),
        'Lower `ppo.learning_rate`, or set `model.dtype` = "float32".',
    ),
]
