"""Direct preference optimisation."""

from trainer.metrics.metric import Metric, optimiser

DPO = [
    Metric(
        "dpo",
        "loss",
        "Loss",
        "−mean log σ(β·Δ), Δ = log(π/ref)(preferred) − log(π/ref)(other)",
        "DPO loss per pair; a tie counts half each way. It begins at ln 2 ≈ 0.693. With `ipo`: mean (Δ − 1/(2β))² per token.",
    ),
    Metric(
        "dpo",
        "accuracy",
        "Accuracy",
        "share of log(π/ref)(preferred) > log(π/ref)(other)",
        "How often the policy has moved towards the preferred answer more than towards the other one. 0 at the first step, where it has not moved.",
    ),
    Metric(
        "dpo",
        "margin",
        "Margin",
        "mean β·Δ",
        "How far apart the implied rewards of the two sides are.",
    ),
    Metric(
        "dpo",
        "rewards/chosen",
        "Reward of the preferred",
        "mean β·log(π/ref)(preferred)",
        "The implied reward of the preferred answers (with `ipo` per token).",
        None,
        "Falling far below 0: the policy makes the preferred answers less likely too, and what becomes likely instead is in no pair. Raise `dpo.beta`, or lower the learning rate.",
    ),
    Metric(
        "dpo",
        "rewards/rejected",
        "Reward of the other",
        "mean β·log(π/ref)(other)",
        "The implied reward of the answers that were not preferred (with `ipo` per token).",
    ),
    Metric("dpo", "eval/loss", "Held-out loss", "as loss", "The loss on pairs whose prompts were held out."),
    Metric(
        "dpo",
        "eval/accuracy",
        "Held-out accuracy",
        "as accuracy",
        "Accuracy on pairs whose prompts were held out.",
        (0.55, 1.0),
        "Near 0.5: the policy learnt the pairs by heart, or nothing. More pairs, or fewer epochs.",
    ),
    Metric("dpo", "eval/margin", "Held-out margin", "as margin", "The margin on pairs whose prompts were held out."),
    Metric(
        "dpo",
        "eval/rewards/chosen",
        "Held-out reward of the preferred",
        "as rewards/chosen",
        "The implied reward of preferred answers to held-out prompts.",
    ),
    Metric(
        "dpo",
        "eval/rewards/rejected",
        "Held-out reward of the other",
        "as rewards/rejected",
        "The implied reward of the others to held-out prompts.",
    ),
    *optimiser("dpo"),
]
