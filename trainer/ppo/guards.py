"""Brakes inside an iteration, on a minibatch's KL to the sampling policy. Pure functions."""

from trainer.spec import GuardsSpec


def went_too_far(approxkl: float, spec: GuardsSpec) -> bool:
    """Whether the iteration ends here, before this minibatch's step."""
    return spec.target_kl is not None and approxkl > spec.target_kl


def cut_steps_left(left: int, approxkl: float, spec: GuardsSpec) -> int:
    """Optimizer steps at a cut rate from this one on: counted anew whenever the KL is above the threshold."""
    return spec.lr_cut_steps if spec.lr_cut_kl is not None and approxkl > spec.lr_cut_kl else left
