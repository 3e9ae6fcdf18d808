"""Whether the engine of a spec can work here: asked before anything is loaded."""

from importlib.util import find_spec

from trainer.errors import ModelError
from trainer.spec import JobSpec


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
