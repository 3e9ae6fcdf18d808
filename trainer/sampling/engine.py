"""What every engine gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from trainer.errors import ModelError
from trainer.spec import JobSpec
from trainer.text.stops import Stops


@dataclass(frozen=True)
class Response:
    """Sampled token ids, and whether they end with a stop (else the length limit cut them)."""

    ids: list[int]
    finished: bool
    logprobs: list[float] | None = None
    """Of each token as the sampler drew it, by its own forward pass, where they were asked for."""

    @classmethod
    def cut(cls, ids: Sequence[int], logprobs: Sequence[float], stops: Stops) -> "Response":
        """The tokens up to the first stop: an engine that does not know all stops goes on after it."""
        end = stops.end(ids)
        return cls(list(ids[:end]), end is not None, list(logprobs[:end]))


# Whether the engine of a spec can work here: asked before anything is loaded.
def check_engine(spec: JobSpec) -> None:
    """Raise ModelError where the engine is not installed, or cannot sample the policy that the spec describes."""
    rollout, lora = spec.ppo.rollout, spec.model.lora is not None
    if "ppo" not in spec.stages:
        return
    if rollout.engine == "continuous_batching" and lora:
        raise ModelError(
            '`ppo.rollout.engine` = "continuous_batching" samples whole models of transformers, not adapters on a shared '
            'backbone (`model.lora`). Set it to "built_in".'
        )
    if rollout.engine == "vllm":
        require_vllm()
    if spec.model.quantization is not None and (rollout.engine == "vllm" or rollout.asynchronous):
        raise ModelError(
            '`ppo.rollout`: a quantized backbone is sampled where it is, by the "built_in" engine and not asynchronously.'
        )


def require_vllm() -> None:
    """Raise ModelError where it is not installed."""
    if find_spec("vllm") is None:
        raise ModelError(
            '`ppo.rollout.engine` = "vllm" needs vLLM, which is not installed here. Install it (pip install vllm, on a '
            'machine with a GPU that it supports), or set the engine to "built_in".'
        )
