"""How PPO's responses are sampled."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from trainer.spec.ppo_correction import CorrectionName, CorrectionSpec
from trainer.spec.section import Countable, Fraction, Positive, PositiveInt, Section

_VLLM_MIN_TEMPERATURE = 0.01


class RolloutSpec(Section):
    """The engine that samples the responses, and the source of the sampling policy's log-probabilities."""

    engine: Literal["built_in", "vllm"] = "built_in"
    """`built_in`: the model itself, with a key-value cache that is written in place. `vllm`: vLLM in the trainer's process, if installed. Its weights are updated before every rollout. vLLM samples only the policy that is trained; the built-in engine samples every other model."""
    rows_at_once: PositiveInt | None = None
    """Rows that are sampled together, in evaluations too: fewer take less memory for their cache. Left out: the whole batch."""
    decode: Literal["auto", "eager", "cuda_graphs"] = "auto"
    """How the built-in engine takes a step. `eager`: the model's forward pass over the columns in use. `cuda_graphs`: a forward pass that was captured once for each of a few batch sizes and is replayed, which saves kernel launches. `auto`: `cuda_graphs` on a CUDA device if the model allows it. On a CPU, Llama, Mistral, Qwen2 and Qwen3 in float32 take steps without the overhead of the forward pass, with the same results up to rounding. Any other model: `eager`."""
    logprobs: Literal["recomputed", "sampler"] = "recomputed"
    """Source of the old log-probabilities π_old. `recomputed`: a forward pass of the trainer over the sampled responses. With one epoch, one minibatch and no KL in the reward, this is the update's own pass. `sampler`: the sampler as it drew each token, which saves that pass. Those of the built-in engine equal the trainer's up to rounding."""
    importance_cap: Positive | Literal["auto"] | None = "auto"
    """C of truncated importance sampling (Ionides 2008, Yao et al. 2025), which needs a recomputed π_old. The policy loss of each token, and a KL in the loss, are multiplied by min(π_old/π_sampler, C). Null (in TOML: false): no weights. `auto`: 2 with `asynchronous` or `engine` = "vllm", where the sampler is not the trainer, and with a `correction.kind` that truncates, else no weights."""
    correction: CorrectionSpec = CorrectionSpec()
    """How the policy loss corrects for a sampler that is not π_old."""
    asynchronous: bool = False
    """Sample the responses of a later iteration while the trainer learns from this one's. The sampling policy is `staleness` steps old (Noukhovitch et al. 2024), for which `correction` corrects. Takes one more copy of the policy's weights."""
    staleness: Annotated[int, Field(ge=0), Countable] | None = None
    """k, the largest age of a sampling policy in steps. Iteration t learns from responses of the policy before step t − k, and the first k iterations from those of the first policy. 1 or more turns `asynchronous` on. Left out: 1 with `asynchronous`, else 0."""
    gpu_memory_utilization: Fraction = 0.3
    """Share of the GPU's memory that vLLM takes for its weights and its cache while it samples. On a CPU the cache takes what the rows sampled at once need."""

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

    @model_validator(mode="before")
    @classmethod
    def _staleness_is_asynchronous(cls, value: object) -> object:
        if isinstance(value, dict) and isinstance(value.get("staleness"), int) and value["staleness"] > 0:
            return {"asynchronous": True, **value}
        return value

    @model_validator(mode="after")
    def _parts_fit(self) -> "RolloutSpec":
        if self.engine != "vllm":
            self.refuse_idle(["gpu_memory_utilization"], f'with `engine` = "{self.engine}"')
        if self.engine != "built_in":
            without = f'with `engine` = "{self.engine}": it is the built-in one\'s'
            self.refuse_idle(["logprobs", "asynchronous", "staleness"], without)
        if self.logprobs == "sampler":
            self.refuse_idle(["importance_cap", "correction"], 'with `logprobs` = "sampler": π_old is the sampler\'s')
            if self.asynchronous:
                raise ValueError(
                    '`asynchronous` needs `logprobs` = "recomputed": the sampler is a policy of one step before, or of more'
                )
        if self.staleness is not None and (self.staleness > 0) != self.asynchronous:
            raise ValueError(
                f"`staleness` = {self.staleness} with `asynchronous` = {str(self.asynchronous).lower()}: responses that are "
                "sampled ahead are 1 step old or older, and others 0. Leave out one of the two"
            )
        self._correction_fits()
        return self

    def _correction_fits(self) -> None:
        spec, named = self.correction, f'`correction.kind` = "{self.correction.kind}"'
        if spec.bypasses:
            because = 'with `correction.denominator` = "sampler": π/π_sampler holds the weight already'
            self.refuse_idle(["importance_cap"], because)
        elif spec.interpolates and not self.asynchronous:
            raise ValueError(
                '`correction.denominator` = "interpolated" needs older responses (`asynchronous` or `staleness`): for those of the '
                "policy itself the interpolation is the sampler"
            )
        elif spec.interpolates and self.correction_kind == "none":
            raise ValueError(
                '`correction.denominator` = "interpolated" needs a weight: leave `importance_cap` out, or set it to a number'
            )
        elif spec.truncates and self.importance_cap is None:
            raise ValueError(f'{named} needs a cap: leave `importance_cap` out, or set `correction.kind` = "none"')
        elif spec.kind != "auto" and not spec.truncates:
            self.refuse_idle(["importance_cap"], f"with {named}")

    def refuse_temperature(self, name: str, temperature: float) -> None:
        """Raise ValueError for a temperature that vLLM would raise to another one without an error."""
        if self.engine == "vllm" and temperature < _VLLM_MIN_TEMPERATURE:
            raise ValueError(
                f'`{name}` is {temperature:g}, and `ppo.rollout.engine` = "vllm" samples at {_VLLM_MIN_TEMPERATURE:g} or '
                'above. Raise it, or set the engine to "built_in"'
            )

    @property
    def staleness_bound(self) -> int:
        """k, also where the spec leaves it out."""
        return int(self.asynchronous) if self.staleness is None else self.staleness

    @property
    def is_uncorrected(self) -> bool:
        """Whether the loss takes the responses of an older policy for those of π_old. Only a spec that names it does."""
        return self.asynchronous and self.correction_kind == "none" and not self.correction.bypasses

    @property
    def cap(self) -> float | None:
        """C, or None if no weight is truncated."""
        if self.importance_cap != "auto":
            return self.importance_cap
        by_default = self.correction.kind == "auto" and not self.correction.bypasses
        default = by_default and (self.asynchronous or self.engine == "vllm")
        return 2.0 if default or self.correction.truncates else None

    @property
    def correction_kind(self) -> CorrectionName:
        """The kind that holds, also where the spec leaves it to "auto"."""
        if self.correction.kind != "auto":
            return self.correction.kind
        return "none" if self.cap is None else "truncated"
