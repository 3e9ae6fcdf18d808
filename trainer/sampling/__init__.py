"""Sampling responses: the distribution is shaped by the temperature alone, so that the sampled policy is exactly the one
whose log-probabilities are trained (no top-k, no top-p, no repetition penalty).

Every draw comes from a uniform number fixed beforehand for (row, position), by inverting the cumulative distribution: what
a row gets does not depend on which other rows are in the batch.
"""

from trainer.sampling.built_in import sample, sample_with
from trainer.sampling.draws import draw, uniforms
from trainer.sampling.engine import Response
from trainer.sampling.sampler import BUILT_IN, Engine, Sampler

__all__ = ["BUILT_IN", "Engine", "Response", "Sampler", "draw", "sample", "sample_with", "uniforms"]
