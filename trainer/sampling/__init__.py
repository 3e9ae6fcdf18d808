"""Sampling responses. Only the temperature shapes the distribution: no top-k, no top-p, no repetition penalty.

The sampled policy is therefore exactly the one whose log-probabilities are trained. The built-in engine draws every token
from a uniform number fixed beforehand for (row, position), by inverting the cumulative distribution. A row's response
therefore does not depend on the other rows of its batch.
"""

from trainer.sampling.built_in import sample, sample_with
from trainer.sampling.draws import draw, uniforms
from trainer.sampling.engine import Engine, Response, SamplingOptions
from trainer.sampling.sampler import BUILT_IN, Sampler

__all__ = ["BUILT_IN", "Engine", "Response", "Sampler", "SamplingOptions", "draw", "sample", "sample_with", "uniforms"]
