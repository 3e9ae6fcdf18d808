"""Weights taken over from one model by another, in place: plain models and roles alike, by their parameters."""

from pathlib import Path

import torch

from trainer.models.heads import Model
from trainer.models.loading import load_policy, load_reward_model
from trainer.models.roles import Role


@torch.no_grad()
def copy_weights(target: Model, source: Model) -> None:
    """target ← source. Both are plain models of one architecture, or roles with adapters of one shape."""
    for mine, theirs in zip(target.parameters(), source.parameters(), strict=True):
        mine.copy_(theirs)


def load_weights(model: Model, folder: Path) -> None:
    """Take over the weights of a checkpoint (a model folder; for a role an adapter folder), and a score's bias and scale.

    Raises ModelError where they do not fit.
    """
    if isinstance(model, Role):
        model.load(folder)
        return
    scores = hasattr(model, "score")
    saved = load_reward_model(folder) if scores else load_policy(folder)
    copy_weights(model, saved)
    if scores:
        model.config.score_bias, model.config.score_scale = saved.config.score_bias, saved.config.score_scale
