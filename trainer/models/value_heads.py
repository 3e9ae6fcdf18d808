"""Several critics as heads of one backbone (`ppo.critic.heads`): a linear head with an output per critic.

Shapes: M heads.
"""

from typing import Any

import torch
from torch import nn

from trainer.errors import ModelError


def heads_of(config: object) -> int:
    """The number of heads of a critic by its model's configuration; 1 for a scalar head."""
    return int(getattr(config, "value_heads", 1))


@torch.no_grad()
def give_heads(critic: Any, count: int) -> Any:
    """Give the critic this many heads, and return it; unchanged for 1 and for a critic that has them.

    The heads are copies of its scalar one, so that their mean is its value. Raises ModelError for a head with another number.
    """
    if count == 1:
        return critic
    head, config = critic.score, critic.config
    if not has_heads(head.out_features, count):
        kept = {"bias": head.bias is not None, "device": head.weight.device, "dtype": head.weight.dtype}
        critic.score = nn.Linear(head.in_features, count, **kept)
        for new, old in zip(critic.score.parameters(), head.parameters(), strict=True):
            new.copy_(old.expand_as(new))
    config.num_labels = config.value_heads = count
    return critic


def has_heads(outputs: int, count: int) -> bool:
    """Whether a head with so many outputs has the heads; False for a scalar one. Raises ModelError for another number."""
    if outputs not in (1, count):
        raise ModelError(
            f"The head of the saved critic has {outputs} outputs, but `ppo.critic.heads.count` is {count}. Set it to {outputs}, "
            "or begin PPO anew."
        )
    return outputs == count
