"""A model's trunk and its heads, taken apart: the trunk runs over every position, a head only where it is asked."""

from typing import Any, cast

import torch
from torch import Tensor, nn

Model = Any  # transformers' models, and the roles on a shared backbone: callables with a config


def has_linear_score(model: Model) -> bool:
    head = getattr(model, "score", None)
    return isinstance(head, nn.Linear) and head.out_features == 1


def trunk(model: Model) -> nn.Module:
    """The transformer without its head."""
    return cast(nn.Module, model.base_model)


def head_logits(model: Model, hidden_NH: Tensor) -> Tensor:
    """Logits (N, V) from last hidden states, as the model's own forward pass would compute them."""
    logits: Tensor = model.get_output_embeddings()(hidden_NH)
    cap = getattr(model.config, "final_logit_softcapping", None)
    return logits if cap is None else torch.tanh(logits / cap) * cap


def scalar_head(model: Model, hidden_NH: Tensor) -> Tensor:
    """Scores (N,) in fp32 from last hidden states: (the head's output − `config.score_bias`) ÷ `config.score_scale`.

    The bias is the mean raw score of the SFT reference answers, so that those have mean score 0 (Stiennon et al. 2020;
    Huang et al. 2024), the scale their standard deviation where the spec asks for it. Left out: 0 and 1.
    """
    raw: Tensor = model.score(hidden_NH).squeeze(-1).float()
    bias, scale = getattr(model.config, "score_bias", 0.0), getattr(model.config, "score_scale", 1.0)
    return (raw - float(bias)) / float(scale)
