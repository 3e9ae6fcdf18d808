"""PPO: the policy loss, the guards on its steps, and the pretraining loss beside it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec.section import NonNegative, Positive, PositiveInt, Section


class PolicyLossSpec(Section):
    """The loss that the policy minimises, given advantages."""

    kind: Literal["clipped", "unclipped", "reinforce", "kl_penalty", "least_squares"] = "clipped"
    """ρ = π/π_old, A the advantage. `clipped`: max(−Aρ, −A·clip(ρ)) (Schulman et al. 2017, eq. 7); `unclipped`: −Aρ; `reinforce`: −A·log π; `kl_penalty`: −Aρ + β·KL(π_old ‖ π) (Schulman et al. 2017, §4); `least_squares`: (`beta`·log π/π_ref − A)² per response (A*-PO)."""
    clip_range: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """ε: the ratio is clipped to [1 − ε, 1 + ε]."""
    clip_range_high: Positive | None = None
    """Upper ε of its own, clip-higher (DAPO, Yu et al. 2025: 0.28). Left out: `clip_range`."""
    dual_clip: Annotated[float, Field(gt=1)] | None = None
    """c: where A < 0 the loss is at most −c·A (Ye et al. 2020: 3). Left out: no second clip."""
    beta: Positive = 1.0
    """β of `kl_penalty` and of `least_squares`. If `old_kl_target` adapts it, this is the initial one."""
    old_kl_target: Positive | None = None
    """Adapts β of `kl_penalty` after every iteration: halved where KL(π_old ‖ π) < target/1.5, doubled where > 1.5·target. Left out: fixed."""
    entropy_coef: NonNegative = 0.0
    """Weight of the entropy bonus."""
    aggregation: Literal["token_mean", "sequence_mean", "fixed_length"] = "token_mean"
    """How token losses become one number over a whole optimizer step, independent of micro-batches. `token_mean`: the mean over tokens. `sequence_mean`: the mean over responses of each response's mean. `fixed_length`: the sum over tokens ÷ (responses × `max_new_tokens`). With it a token has the same weight in a short and a long response (Dr. GRPO, Liu et al. 2025)."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "PolicyLossSpec":
        without = f'with `kind` = "{self.kind}"'
        if self.kind != "clipped":
            self.refuse_idle(["clip_range", "clip_range_high", "dual_clip"], without)
        if self.kind not in ("kl_penalty", "least_squares"):
            self.refuse_idle(["beta"], without)
        if self.kind != "kl_penalty":
            self.refuse_idle(["old_kl_target"], without)
        if self.kind == "least_squares":
            self.refuse_idle(["aggregation"], without + ": it is a mean over responses")
        return self


class GuardsSpec(Section):
    """Limits on the steps inside an iteration."""

    target_kl: Positive | None = None
    """End the iteration's passes once a minibatch's KL to the sampling policy (`approxkl`) exceeds this, before its step. Left out: never."""
    lr_cut_kl: Positive | None = None
    """Multiply the learning rates by `lr_cut_factor` for the next `lr_cut_steps` optimizer steps once a minibatch's KL to the sampling policy exceeds this (usual: 0.015). Left out: never."""
    lr_cut_factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Factor of the learning rates after `lr_cut_kl` was exceeded."""
    lr_cut_steps: PositiveInt = 100
    """Optimizer steps for which `lr_cut_factor` holds."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "GuardsSpec":
        if self.lr_cut_kl is None:
            self.refuse_idle(["lr_cut_factor", "lr_cut_steps"], "without `lr_cut_kl`")
        return self


class PtxSpec(Section):
    """PPO-ptx: the language-model loss on `data.pretraining`, mixed into every step of the policy (Ouyang et al. 2022, eq. 2)."""

    coef: Positive = 1.0
    """Weight of the mean loss per token. (InstructGPT's γ = 27.8 weighs a sum, not a mean.)"""
    batch_size: PositiveInt = 8
    """Texts per optimizer step."""
    max_tokens: PositiveInt = 512
    """Longer texts are cut."""
