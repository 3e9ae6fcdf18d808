"""How PPO's responses are sampled."""

from typing import Literal

from pydantic import field_validator, model_validator

from trainer.spec.section import Fraction, Positive, PositiveInt, Section


class RolloutSpec(Section):
    """Which engine samples the responses, and what stands in for the log-probabilities of the policy that did."""

    engine: Literal["built_in", "vllm"] = "built_in"
    """`built_in`: the model itself, with a key-value cache that is written in place. `vllm`: vLLM in the trainer's process, if installed. Its weights are updated before every rollout. vLLM samples only the policy that is trained; the built-in engine samples every other model."""
    rows_at_once: PositiveInt | None = None
    """Rows that are sampled together, in evaluations too: fewer take less memory for their cache. Left out: the whole batch."""
    decode: Literal["auto", "eager", "cuda_graphs"] = "auto"
    """How the built-in engine takes a step: `eager`: the model's forward pass over the columns in use; `cuda_graphs`: one captured for each of a few batch sizes, and replayed, which spares the launches of its kernels. `auto`: captured on a CUDA device, where the model allows it."""
    logprobs: Literal["recomputed", "sampler"] = "recomputed"
    """Where the old log-probabilities π_old come from: a forward pass of the trainer over the sampled responses, or the sampler as it drew each token, which saves that pass. With one epoch, one minibatch and no KL in the reward, the update's own pass is that pass. The built-in engine's agree with the trainer's but for rounding."""
    importance_cap: Positive | Literal["auto"] | None = "auto"
    """C: the policy loss of each token, and its KL where that is in the loss, is multiplied by min(π_old/π_sampler, C), truncated importance sampling (Ionides 2008; Yao et al. 2025), where π_old is recomputed. Null (in TOML: false): not at all. `auto`: 2 where the sampler is not the trainer (`asynchronous`, or `engine` = "vllm"), else not at all."""
    asynchronous: bool = False
    """Sample the next iteration's responses while this one's are learned from, by the policy as it was before (one step off: Noukhovitch et al. 2024), corrected by `importance_cap`. Takes one more copy of the policy's weights."""
    gpu_memory_utilization: Fraction = 0.3
    """Share of the GPU's memory that vLLM takes for its weights and its cache while it samples."""

    @field_validator("engine", mode="before")
    @classmethod
    def _continuous_batching_was_removed(cls, value: object) -> object:
        if value == "continuous_batching":
            raise ValueError('"continuous_batching" was removed; use "built_in", or "vllm" on a GPU')
        return value

    @model_validator(mode="before")
    @classmethod
    def _false_turns_the_weights_off(cls, value: object) -> object:
        """TOML has no null."""
        if isinstance(value, dict) and value.get("importance_cap") is False:
            return {**value, "importance_cap": None}
        return value

    @model_validator(mode="after")
    def _parts_fit(self) -> "RolloutSpec":
        if self.engine != "vllm":
            self.refuse_idle(["gpu_memory_utilization"], f'with `engine` = "{self.engine}"')
        if self.engine != "built_in":
            without = f'with `engine` = "{self.engine}": it is the built-in one\'s'
            self.refuse_idle(["logprobs", "asynchronous"], without)
        if self.logprobs == "sampler":
            self.refuse_idle(["importance_cap"], 'with `logprobs` = "sampler": π_old is the sampler\'s')
            if self.asynchronous:
                raise ValueError(
                    '`asynchronous` needs `logprobs` = "recomputed": the sampler is a policy of one step before'
                )
        return self

    @property
    def cap(self) -> float | None:
        """C, or None where the loss is not weighed."""
        if self.importance_cap != "auto":
            return self.importance_cap
        return 2.0 if self.asynchronous or self.engine == "vllm" else None
