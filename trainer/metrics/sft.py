"""Supervised fine-tuning."""

from trainer.metrics.metric import Metric, optimiser

SFT = [
    Metric(
        "sft",
        "loss",
        "Loss",
        "−mean log p(completion token)",
        "Cross-entropy over completion tokens, in nats per token.",
    ),
    Metric(
        "sft",
        "eval/loss",
        "Held-out loss",
        "−mean log p(completion token)",
        "The same on prompts that were held out.",
        None,
        "Rising while the training loss falls: overfitting. Fewer epochs or a lower learning rate.",
    ),
    Metric(
        "sft",
        "time/tokens_per_second",
        "Tokens per second",
        "tokens ÷ seconds",
        "Training speed in tokens, prompts included.",
    ),
    *optimiser("sft"),
]
