"""A critic that is only a head: values read off the policy's own last hidden states."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from torch import nn

from trainer.models import Model, trunk


class ValueHead(nn.Module):
    """A linear head on the policy's trunk that plays the part of a critic. Its parameters are the head's alone."""

    def __init__(self, policy: Model) -> None:
        """Fresh: all weights are 0, and with them all values."""
        super().__init__()
        hidden = int(policy.config.get_text_config().hidden_size)
        self.score = nn.Linear(hidden, 1)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.score.bias)
        self.score.to(next(iter(policy.parameters())).device)
        self.config = SimpleNamespace(score_bias=0.0, score_scale=1.0)
        self._policy = (policy,)  # in a tuple, so that the policy's parameters are not counted as ours

    @property
    def underlying(self) -> Model:
        """The model whose trunk this is."""
        return self._policy[0]

    @property
    def base_model(self) -> Callable[..., Any]:
        return trunk(self._policy[0])
