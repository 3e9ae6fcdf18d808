"""The policy that the KL is taken to, where it moves."""

import torch

from trainer.errors import ModelError
from trainer.models import Model
from trainer.spec import ReferenceSpec


@torch.no_grad()
def move(reference: Model, policy: Model, spec: ReferenceSpec, iteration: int) -> None:
    """After iteration `iteration` (0-based): leave it, copy the policy's weights, or go a little towards them.

    Raises ModelError where the two do not have the same weights, or the reference is too coarse for small moves.
    """
    if spec.update == "fixed" or (spec.update == "reanchored" and (iteration + 1) % spec.every):
        return
    ours, theirs = list(reference.parameters()), list(policy.parameters())
    if [p.shape for p in ours] != [p.shape for p in theirs]:
        raise ModelError(
            f"`ppo.reference.update` = {spec.update!r} needs a reference of the policy's own architecture."
        )
    for own, new in zip(ours, theirs, strict=True):
        if spec.update == "reanchored":
            own.copy_(new)
        elif own.dtype in (torch.float32, torch.float64):
            own.lerp_(new.to(own.dtype), 1 - spec.decay)
        else:  # a move of half a percent would be rounded away
            raise ModelError('`ppo.reference.update` = "ema" needs a reference in float32.')
