"""How many steps a stage takes."""

import math

from trainer.spec import DPOSpec, KTOSpec, RewardModelSpec, SFTSpec


def total_steps(items: int, spec: SFTSpec | RewardModelSpec | DPOSpec | KTOSpec) -> int:
    """Steps that take every item `epochs` times; the last one may be smaller."""
    return math.ceil(items * spec.epochs / spec.batch_size)
