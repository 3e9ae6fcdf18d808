"""The scale of the scores. Only differences are learnt, so their level is free: the SFT reference answers set it.

scalar_head gives (raw − config.score_bias) ÷ config.score_scale.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.models import Model, present
from trainer.models.sequences import Batch, sequence_scores
from trainer.session.session import Session
from trainer.spec import RewardModelSpec
from trainer.stages.sft import Example
from trainer.text.codec import Codec

REFERENCES = 2048
"""SFT reference answers over which mean and standard deviation are taken, at most."""


def unscale(model: Model) -> None:
    """Before training: differences of scores as the model computes them, for they are log odds of a preference.

    Every trainer of a reward model calls it first: one that was normalised to standard deviation 1 would otherwise learn
    from log odds that are not its own.
    """
    model.config.score_scale = 1.0


def normalise(
    session: Session, spec: RewardModelSpec, model: Model, codec: Codec, references: Sequence[Example], at_once: int
) -> dict[str, float]:
    """After training: set bias and scale as `spec.normalize` says; return them, and the raw mean and deviation.

    The bias makes the references' mean score 0 (Stiennon et al. 2020; Huang et al. 2024), the scale their standard
    deviation 1.
    """
    measured: dict[str, float] = {}
    if references:
        raw = _raw_scores(model, references[:REFERENCES], codec, at_once, session.device, session.world)
        measured = {"reference_mean": float(raw.mean()), "reference_std": float(raw.std(correction=0))}
    if measured and spec.normalize != "none":
        model.config.score_bias = measured["reference_mean"]
    if measured and spec.normalize == "mean_and_std":
        if measured["reference_std"] > 1e-6:
            model.config.score_scale = measured["reference_std"]
        else:
            session.say("All SFT reference answers score the same: the scale of the scores stays as it is.", True)
    set_to = {"score_bias": float(model.config.score_bias), "score_scale": float(model.config.score_scale)}
    return set_to | measured


def mean_score(model: Model, examples: Sequence[Example], codec: Codec, batch_size: int, device: torch.device) -> float:
    """Mean raw score (bias and scale left out) of whole answers."""
    return float(_raw_scores(model, examples, codec, batch_size, device).mean())


@torch.no_grad()
def _raw_scores(
    model: Model,
    examples: Sequence[Example],
    codec: Codec,
    batch_size: int,
    device: torch.device,
    world: World = SINGLE,
) -> Tensor:
    """(N,) scores with bias and scale undone."""
    mine = world.share([len(e.prompt) + len(e.completion) for e in examples])
    batches = ([examples[row] for row in mine[i : i + batch_size]] for i in range(0, len(mine), batch_size))
    with present(model):
        scores = [
            sequence_scores(model, Batch.of([e.prompt for e in b], [e.completion for e in b], codec.pad_id).to(device))
            for b in batches
        ]
    scores_N = world.gather_rows(torch.cat(scores) if scores else None, mine, len(examples), device)
    return scores_N * float(getattr(model.config, "score_scale", 1.0)) + float(model.config.score_bias)
