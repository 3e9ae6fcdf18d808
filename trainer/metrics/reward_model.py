"""The reward model."""

from trainer.metrics.base import Metric, optimiser

REWARD_MODEL = [
    Metric(
        "reward_model",
        "loss",
        "Loss",
        "−mean log σ(r(preferred) − r(other))",
        "Bradley-Terry loss in nats per pair; a tie counts half each way. ln 2 ≈ 0.693 is a coin flip.",
    ),
    Metric(
        "reward_model",
        "accuracy",
        "Accuracy",
        "share of r(preferred) > r(other)",
        "How often the preferred answer scores higher.",
    ),
    Metric("reward_model", "margin", "Margin", "mean r(preferred) − r(other)", "How far apart the two scores are."),
    Metric(
        "reward_model",
        "eval/margin",
        "Held-out margin",
        "as margin",
        "The margin on pairs whose prompts were held out.",
    ),
    Metric("reward_model", "eval/loss", "Held-out loss", "as loss", "The loss on pairs whose prompts were held out."),
    Metric(
        "reward_model",
        "eval/accuracy",
        "Held-out accuracy",
        "as accuracy",
        "Accuracy on pairs whose prompts were held out: the figure to trust. Human labels rarely allow more than 0.65 to 0.8.",
        (0.6, 1.0),
        "Near 0.5: the reward model learnt nothing and PPO would chase noise. More pairs, or a higher learning rate.",
    ),
    *optimiser("reward_model"),
]
