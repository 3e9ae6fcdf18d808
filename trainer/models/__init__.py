"""Models: policy, reward model and critic are transformers models, or roles on a shared backbone.

All models stay in eval mode, in training too. With dropout, the ratio of the first PPO step would not be 1.
"""

from trainer.models.builders import ModelBuilder, WeightUse, builder_for, dtype_of
from trainer.models.heads import (
    Model,
    autocast,
    compute_in,
    has_linear_score,
    head_logits,
    member_heads,
    scalar_head,
    trunk,
)
from trainer.models.loading import (
    SAFELY,
    load_classifier,
    load_config,
    load_policy,
    load_reward_model,
    load_stops,
    load_tokenizer,
    new_policy,
    new_reward_model,
    set_fresh,
    set_stops,
)
from trainer.models.offload import place_frozen, present
from trainer.models.precision import check_quantization
from trainer.models.roles import save_result

__all__ = [
    "SAFELY",
    "Model",
    "ModelBuilder",
    "WeightUse",
    "autocast",
    "builder_for",
    "check_quantization",
    "compute_in",
    "copy_weights",
    "dtype_of",
    "has_linear_score",
    "head_logits",
    "load_classifier",
    "load_config",
    "load_policy",
    "load_reward_model",
    "load_stops",
    "load_tokenizer",
    "member_heads",
    "new_policy",
    "new_reward_model",
    "place_frozen",
    "present",
    "save_result",
    "scalar_head",
    "set_fresh",
    "set_stops",
    "trunk",
]  # fmt: skip
