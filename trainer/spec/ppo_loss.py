"""PPO: the policy loss, the guards on its steps, and the pretraining loss beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec.facts import Amount
from trainer.spec.ppo_advantage import AdvantageSpec
from trainer.spec.section import NonNegative, Positive, PositiveInt, Section

LossName = Literal["clipped", "gspo", "cispo", "unclipped", "reinforce", "kl_penalty", "least_squares"]
Aggregation = Literal["token_mean", "sequence_mean", "fixed_length"]


@dataclass(frozen=True)
class LossKind:
    """The properties of a kind of policy loss that other code asks for. Torch-free.

    No code compares the name of a kind: it reads `PolicyLossSpec.traits`. The class in trainer/ppo/losses.py computes the loss.
    """

    formula: str
    """The loss, as the description of `kind` prints it."""
    options: tuple[str, ...] = ()
    """The fields that this kind reads, of those that only some kinds read. The spec refuses a change of the others."""
    clips: bool = False
    """Whether a clip can decide the loss of a token. Then there is a clip fraction, a column `clipped` and the rule `clipfrac_zero`."""
    has_ratio: bool = False
    """Whether the gradient is that of the ratio π/π_old, for which `rollout.correction.denominator` can put another denominator."""
    per_token: bool = True
    """Whether each token has a loss, which `aggregation` averages and `rollout.correction` weights. False: a mean over responses."""
    aggregation: Aggregation | None = None
    """The aggregation that is part of the kind. None: `aggregation` of the spec chooses it."""
    holds_reference: bool = False
    """Whether `beta` holds the policy near the reference. Then `kl.coef` must be 0."""
    check_advantage: Callable[[AdvantageSpec], None] | None = None
    """Raises ValueError for an advantage that the loss cannot use. None: it can use any."""


def _least_squares_fits(advantage: AdvantageSpec) -> None:
    if advantage.baseline != "optimal_value":
        raise ValueError(
            '`policy_loss.kind` = "least_squares" needs `advantage.baseline` = "optimal_value": it fits '
            "`beta`·log π/π_ref to the score less V*, which has no solution for another baseline"
        )
    if advantage.estimator != "sequence" or advantage.normalize != "none":
        raise ValueError(
            '`policy_loss.kind` = "least_squares" needs `advantage.estimator` = "sequence" and `normalize` = "none"'
        )


LOSS_KINDS: dict[LossName, LossKind] = {
    "clipped": LossKind(
        "max(−Aρ, −A·clip(ρ)) (Schulman et al. 2017, eq. 7)",
        options=("clip_range", "clip_range_high", "dual_clip"),
        clips=True,
        has_ratio=True,
    ),
    "gspo": LossKind(
        "max(−As, −A·clip(s)), s the geometric mean of ρ over the response (GSPO, Zheng et al. 2025)",
        options=("clip_range", "clip_range_high"),
        clips=True,
        has_ratio=True,
        aggregation="sequence_mean",
    ),
    "cispo": LossKind(
        "−A·sg(clip(ρ))·log π, sg without a gradient (CISPO, MiniMax-M1, arXiv 2506.13585)",
        options=("clip_range", "clip_range_high"),
        clips=True,
        has_ratio=True,
    ),
    "unclipped": LossKind("−Aρ", has_ratio=True),
    "reinforce": LossKind("−A·log π"),
    "kl_penalty": LossKind("−Aρ + β·KL(π_old ‖ π) (Schulman et al. 2017, §4)", options=("beta", "old_kl_target")),
    "least_squares": LossKind(
        "(`beta`·log π/π_ref − A)² per response (A*-PO)",
        options=("beta",),
        per_token=False,
        holds_reference=True,
        check_advantage=_least_squares_fits,
    ),
}
"""Every kind of policy loss. `LOSSES` in trainer/ppo/losses.py names the implementation of each."""
_OPTIONS = {name for kind in LOSS_KINDS.values() for name in kind.options}


class PolicyLossSpec(Section):
    """The loss that the policy minimises, given advantages."""

    kind: LossName = Field(
        default="clipped",
        description="ρ = π/π_old, A the advantage. "
        + "; ".join(f"`{name}`: {kind.formula}" for name, kind in LOSS_KINDS.items())
        + ".",
    )
    clip_range: Annotated[float, Field(gt=0, le=1)] = 0.2
    """ε: the ratio is clipped to [1 − ε, 1 + ε]. 1 is no lower bound, as `cispo` has it in the paper. The ratio of `gspo` is a mean, which moves far less than that of a token: 3e-4 in the paper."""
    clip_range_high: Positive | None = None
    """Upper ε of its own, clip-higher (DAPO, Yu et al. 2025: 0.28; GSPO: 4e-4). Left out: `clip_range`."""
    dual_clip: Annotated[float, Field(gt=1)] | None = None
    """c: where A < 0 the loss is at most −c·A (Ye et al. 2020: 3). Left out: no second clip."""
    beta: Positive = 1.0
    """β of `kl_penalty` and of `least_squares`. If `old_kl_target` adapts it, this is the initial one."""
    old_kl_target: Positive | None = None
    """Adapts β of `kl_penalty` after every iteration: halved where KL(π_old ‖ π) < target/1.5, doubled where > 1.5·target. Left out: fixed."""
    entropy_coef: NonNegative = 0.0
    """Weight of the entropy bonus."""
    aggregation: Aggregation = "token_mean"
    """How token losses become one number over a whole optimizer step, independent of micro-batches. `token_mean`: the mean over tokens. `sequence_mean`: the mean over responses of each response's mean. `fixed_length`: the sum over tokens ÷ (responses × `max_new_tokens`). With it a token has the same weight in a short and a long response (Dr. GRPO, Liu et al. 2025). `gspo` always has `sequence_mean`."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "PolicyLossSpec":
        without = f'with `kind` = "{self.kind}"'
        idle = _OPTIONS.difference(self.traits.options)
        self.refuse_idle([name for name in type(self).model_fields if name in idle], without)
        if not self.traits.per_token:
            self.refuse_idle(["aggregation"], without + ": it is a mean over responses")
        elif self.aggregation != self.averages_by:
            self.refuse_idle(["aggregation"], f'{without}: its loss is the "{self.averages_by}"')
        return self

    @property
    def traits(self) -> LossKind:
        """The properties of the kind."""
        return LOSS_KINDS[self.kind]

    @property
    def clip_bounds(self) -> tuple[float, float]:
        """The range that the ratio is clipped to."""
        high = self.clip_range if self.clip_range_high is None else self.clip_range_high
        return 1 - self.clip_range, 1 + high

    @property
    def averages_by(self) -> Aggregation:
        """The aggregation that holds: that of the kind, or else the one that the spec chooses."""
        return self.traits.aggregation or self.aggregation


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
    batch_size: Annotated[PositiveInt, Amount("rows in a batch")] = 8
    """Texts per optimizer step."""
    max_tokens: Annotated[PositiveInt, Amount("tokens in a sequence")] = 512
    """Longer texts are cut."""
