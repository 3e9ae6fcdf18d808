"""The interface of sampling engines, their responses, and the check that a spec's engine can work on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import torch
from torch import Tensor

from trainer.errors import ModelError
from trainer.models import Model
from trainer.sampling.vllm_support import require_vllm
from trainer.spec import JobSpec
from trainer.text.stops import Stops


@dataclass(frozen=True)
class Response:
    """Sampled token ids, and whether they end with a stop. Otherwise the length limit cut them off."""

    ids: list[int]
    finished: bool
    logprobs: list[float] | None = None
    """Log-probability of each token by the sampler's own forward pass; None if not asked for."""

    @classmethod
    def cut(cls, ids: Sequence[int], logprobs: Sequence[float], stops: Stops) -> "Response":
        """Keep the tokens up to the first stop. An engine without stop strings samples on after them."""
        end = stops.end(ids)
        return cls(list(ids[:end]), end is not None, list(logprobs[:end]))


@dataclass(frozen=True)
class SamplingOptions:
    """The options of a batch of responses that do not depend on the prompts."""

    stops: Stops
    pad_id: int
    temperature: float
    device: torch.device
    with_logprobs: bool = False
    """Whether responses hold the log-probability of each token."""


class Engine(Protocol):
    """Samples the policy that is trained, outside its own forward pass. An engine gets only this process's rows."""

    def serves(self, model: Model) -> bool:
        """Whether `model` is the policy that the engine was made for."""
        ...

    def sample(self, prompts: Sequence[list[int]], draws_BR: Tensor, temperature: float) -> list[Response]:
        """One response per prompt by the policy's current weights, of at most R tokens.

        An engine with its own random numbers takes only a seed per row from the draws.
        """
        ...

    def free_memory(self, keep_weights: bool = False) -> None:
        """Free the memory that only sampling needs. `keep_weights`: the next batch probably samples the same policy."""
        ...

    def policy_moved(self) -> None:
        """Called after each update: the policy has other weights."""
        ...


def check_engine(spec: JobSpec) -> None:
    """Raise ModelError if the engine is not installed, or cannot sample the policy that the spec describes.

    It is called before any model is loaded.
    """
    rollout = spec.ppo.rollout
    if "ppo" not in spec.stages:
        return
    if rollout.engine == "vllm":
        require_vllm()
    if spec.model.quantization is not None and (rollout.engine == "vllm" or rollout.asynchronous):
        raise ModelError(
            '`ppo.rollout`: a quantized backbone is sampled where it is, by the "built_in" engine and not asynchronously.'
        )


def seed_from(draws_BR: Tensor) -> int:
    """A seed that is a function of the draws, and therefore of their purpose."""
    digest = blake2b(draws_BR.cpu().contiguous().numpy().tobytes(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
