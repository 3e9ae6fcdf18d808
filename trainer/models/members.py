"""An ensemble of reward models as heads of one trunk (`reward_model.members`): a linear head with an output per member.

The members learn from the same rows and begin with different random heads, as in Coste et al. 2023 (arXiv 2310.02743). There
they are whole models. Ahmed et al. 2024 (arXiv 2406.01013) found that heads on a shared trunk limit over-optimisation about
as well, at the cost of one model.

Each member has a level of its own, because only differences of its scores are trained: `config.reward_members` holds the
bias and the scale of each one.

Shapes: N positions, M members.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trainer.errors import ModelError

Level = tuple[float, float]
"""Bias and scale of a member: its score is (raw − bias) ÷ scale."""


def members_of(config: object) -> int:
    """The number of members of a reward model by its configuration; 1 for a scalar head."""
    return len(getattr(config, "reward_members", None) or ()) or 1


def levels_of(config: object) -> list[Level]:
    """Bias and scale of each member; empty for a scalar head."""
    return [(float(bias), float(scale)) for bias, scale in getattr(config, "reward_members", None) or ()]


def set_levels(config: Any, levels: Sequence[Level]) -> None:
    """Set bias and scale of each member, as lists, which a configuration saves as JSON."""
    config.reward_members = [[bias, scale] for bias, scale in levels]


def levelled(config: object, raw_NM: Tensor) -> Tensor:
    """The scores of the members, (N, M): (raw − bias) ÷ scale."""
    bias_M, scale_M = torch.tensor(levels_of(config), device=raw_NM.device).unbind(1)
    return (raw_NM - bias_M) / scale_M


def forget_members(config: object) -> None:
    """Make the configuration that of a scalar head."""
    vars(config).pop("reward_members", None)


def learners_of(rows: Sequence[Sequence[Sequence[int]]], members: int, share: float, device: torch.device) -> Tensor:
    """The weight of each row in the loss of each member, (rows, M): 1/share for those that learn from it, else 0.

    A row is its prompt and its answers. A hash of their tokens decides, so it depends neither on the batch nor on the order of
    the answers, the epoch or the number of processes. The expected weight is 1.
    """
    chosen = [[_uniform(row, member) < share for member in range(members)] for row in rows]
    return torch.tensor(chosen, dtype=torch.float32, device=device).view(-1, members) / share


def _uniform(row: Sequence[Sequence[int]], member: int) -> float:
    """A number from 0 to 1 that is always the same for a row and a member."""
    prompt, *answers = (",".join(map(str, ids)) for ids in row)
    digest = hashlib.sha256("|".join([str(member), prompt, *sorted(answers)]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def new_members(scorer: Any, count: int) -> Any:
    """Give the model a head without weights for so many members, at bias 0 and scale 1; return the model.

    Unchanged for 1. `set_fresh` draws the weights, each member's by itself.
    """
    if count == 1:
        return scorer
    head, config = scorer.score, scorer.config
    scorer.score = nn.Linear(
        head.in_features, count, bias=False, device=head.weight.device, dtype=head.weight.dtype
    ).requires_grad_(head.weight.requires_grad)
    config.num_labels = count
    set_levels(config, [(0.0, 1.0)] * count)
    return scorer


@torch.no_grad()
def with_members(scorer: Any, count: int | None) -> Any:
    """The model with so many members, in place; None: as many as it has.

    An ensemble becomes one member whose score is the mean of its members' scores. Raises ModelError for any other change:
    members that begin alike would stay alike.
    """
    head, config = scorer.score, scorer.config
    found = members_of(config)
    if count is None or found == count:
        return scorer
    if count > 1:
        raise ModelError(mismatch(found, count))
    bias_M, scale_M = torch.tensor(levels_of(config), device=head.weight.device).unbind(1)
    one = nn.Linear(head.in_features, 1, bias=False, device=head.weight.device, dtype=head.weight.dtype)
    one.weight.copy_((head.weight.float() / scale_M[:, None]).mean(0, keepdim=True))
    scorer.score = one
    config.num_labels = 1
    forget_members(config)
    config.score_bias, config.score_scale = float((bias_M / scale_M).mean()), 1.0
    return scorer


def mismatch(found: int, count: int) -> str:
    """The message for a reward model with another number of members than `reward_model.members`."""
    advice = "Set it to that number" + (", or leave out `reward_model.path`." if count > 1 else ".")
    return f"The reward model has {found} member{'s' if found > 1 else ''}, but `reward_model.members` is {count}. {advice}"
