"""Loading and making models: policy, reward model and critic are transformers models, or roles on a shared backbone.

All of them stay in eval mode, in training too: dropout is off everywhere (a policy with dropout has no ratio of 1).
"""

from trainer.models.heads import Model, has_linear_score, head_logits, scalar_head, trunk
from trainer.models.loading import (
    SAFELY,
    load_classifier,
    load_policy,
    load_reward_model,
    load_tokenizer,
    new_policy,
    new_reward_model,
)

__all__ = [
    "SAFELY", "Model", "has_linear_score", "head_logits", "load_classifier", "load_policy", "load_reward_model",
    "load_tokenizer", "new_policy", "new_reward_model", "scalar_head", "trunk",
]  # fmt: skip
