"""Values as distributions over bins (`ppo.critic.classification`): a critic with an output per bin, and its loss.

The critic's value is the mean of its distribution. A target becomes a distribution too, and the loss is the cross-entropy of
the two. Both kinds of targets work in units of the bins' distance, counted from the lower end of the range:

    two_hot     values at 0, 1, …, n − 1: the target's two neighbours share its probability, so that their mean is the target
    hl_gauss    bins [0, 1], …, [n − 1, n], whose values are their middles: a bin has the probability that a Gaussian around
                the target has inside it, divided by that of the whole range

Sources: two_hot: Farebrother et al. 2024 (arXiv 2403.03950), §3.1. hl_gauss: Imani & White 2018, and Farebrother et al. 2024, §3.1 and appendix A.

Shapes: N values, V bins.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from trainer.errors import ModelError
from trainer.spec import ValueClassificationSpec

Bins = ValueClassificationSpec


def bins_of(config: object) -> Bins | None:
    """The bins of a critic by its model's configuration; None for a scalar head."""
    stored = getattr(config, "value_bins", None)
    return None if stored is None else Bins.model_validate(stored)


def give_bins(critic: Any, bins: Bins | None) -> Any:
    """Give the critic an output per bin, and return it; unchanged for None.

    A scalar head is replaced by a new one with weights 0, for which all bins are alike: the critic's values are the middle of
    the range. Raises ModelError for a head with another number of bins.
    """
    if bins is None:
        return critic
    head, config = critic.score, critic.config
    if not has_bins(head.out_features, bins):
        kept = {"bias": head.bias is not None, "device": head.weight.device, "dtype": head.weight.dtype}
        critic.score = nn.Linear(head.in_features, bins.bins, **kept)
        for weight in critic.score.parameters():
            nn.init.zeros_(weight)
    config.num_labels, config.value_bins = bins.bins, bins.model_dump()
    return critic


def has_bins(outputs: int, bins: Bins) -> bool:
    """Whether a head with so many outputs has the bins; False for a scalar one. Raises ModelError for another number."""
    if outputs not in (1, bins.bins):
        raise ModelError(
            f"The head of the saved critic has {outputs} outputs, but `ppo.critic.classification.bins` is {bins.bins}. Set it "
            f"to {outputs}, or begin PPO anew."
        )
    return outputs == bins.bins


def bin_values(logits: Tensor, bins: Bins) -> Tensor:
    """The mean of each distribution, (…) for logits (…, V)."""
    offset = 0.5 if bins.target == "hl_gauss" else 0.0
    places_V = torch.arange(bins.bins, device=logits.device, dtype=logits.dtype) + offset
    return logits.softmax(-1) @ (bins.low + bins.width * places_V)


def bin_targets(values: Tensor, bins: Bins) -> Tensor:
    """The distribution that each value stands for, (…, V). A value outside of the range counts as the nearest end of it."""
    at = ((values - bins.low) / bins.width).clamp(0, (bins.high - bins.low) / bins.width)[..., None]
    if bins.target == "two_hot":
        places_V = torch.arange(bins.bins, device=values.device, dtype=values.dtype)
        return (1 - (places_V - at).abs()).clamp(min=0)
    edges_E = torch.arange(bins.bins + 1, device=values.device, dtype=values.dtype)
    below_E = torch.erf((edges_E - at) / (bins.sigma * math.sqrt(2)))
    return below_E.diff(dim=-1) / (below_E[..., -1:] - below_E[..., :1])


def bin_loss(logits: Tensor, values: Tensor, bins: Bins) -> Tensor:
    """−Σᵢ pᵢ·log qᵢ of each value, (…): p its target distribution, q the critic's."""
    return -(bin_targets(values, bins) * logits.log_softmax(-1)).sum(-1)


def outside(values: Tensor, bins: Bins) -> Tensor:
    """True where a value lies outside of the range, and is learned as its nearest end."""
    return (values < bins.low) | (values > bins.high)
