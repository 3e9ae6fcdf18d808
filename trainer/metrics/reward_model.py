"""The reward model."""

from trainer.metrics.base import Metric, optimiser

REWARD_MODEL = [
    Metric(
        "reward_model",
        "loss",
        "Loss",
        "−mean log σ(r(preferred) − r(other))",
        "Bradley-Terry loss in nats per pair; a tie counts half each way, all pairs of a ranking as one. ln 2 ≈ 0.693 is a coin flip. With `margin` and `center_coef`, theirs is in it.",
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
    Metric(
        "reward_model",
        "eval/loss",
        "Held-out loss",
        "−mean log σ(r(preferred) − r(other))",
        "The loss on pairs whose prompts were held out, without margin and centring.",
    ),
    Metric(
        "reward_model",
        "eval/accuracy",
        "Held-out accuracy",
        "as accuracy",
        "Accuracy on pairs whose prompts were held out: the figure to trust. Human labels rarely allow more than 0.65 to 0.8.",
        (0.6, 1.0),
        "Near 0.5: the reward model learnt nothing and PPO would chase noise. More pairs, or a higher learning rate.",
    ),
    Metric(
        "reward_model",
        "eval/length_baseline",
        "Length baseline",
        "share of pairs in which the preferred answer is the longer one",
        "The accuracy of a judge that only counts tokens, on the same held-out pairs; equal lengths are half right.",
        None,
        "At or above the held-out accuracy: the reward model may have learnt length alone, and PPO would write ever longer answers. Look at the report card's slices by length.",
    ),
    Metric(
        "reward_model",
        "eval/calibration_error",
        "Calibration error",
        "Σ bins n/N · |observed − predicted|, predicted = mean σ(|Δ|)",
        "How far the reward model's certainty is from its accuracy, over ten bins (ECE). The curve is in its report card.",
        (0.0, 0.1),
        "High: it is surer than it is right, mostly by too many epochs. Fewer epochs, or a lower learning rate.",
    ),
    *optimiser("reward_model"),
]
