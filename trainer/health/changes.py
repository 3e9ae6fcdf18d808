"""The changes of the spec that a finding suggests, for programs. Each is an alternative, and not a part of one change."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue, ValidationError

from trainer.spec import JobSpec, PPOSpec


@dataclass(frozen=True)
class Change:
    """A field and its new value, which is fixed (`to`) or a multiple of the present one (`factor`)."""

    field: str
    """Path in the spec, such as `ppo.kl.coef`."""
    factor: float | None = None
    to: JsonValue = None
    left_out: str = ""
    """The field whose value it has where it is left out."""


@dataclass(frozen=True)
class SuggestedValue:
    """A change with the number of a run."""

    field: str
    value: JsonValue
    factor: float | None


_MORE_KL = Change("ppo.kl.coef", factor=2)
_HALF_RATE = Change("ppo.learning_rate", factor=0.5)
_HALF_CRITIC_RATE = Change("ppo.critic.learning_rate", factor=0.5)
_FLOAT32 = Change("model.dtype", to="float32")
_MASK = Change("ppo.rollout.correction.kind", to="mask")
CHANGES: dict[str, tuple[Change, ...]] = {
    "kl_blow_up": (_MORE_KL, _HALF_RATE),
    "negative_kl": (_FLOAT32, _HALF_RATE),
    "entropy_collapse": (Change("ppo.policy_loss.entropy_coef", to=0.01), _MORE_KL, _HALF_RATE),
    "approxkl_high": (_HALF_RATE, Change("ppo.guards.target_kl", to=0.1)),
    "approxkl_jump": (Change("ppo.learning_rate", factor=0.1), Change("ppo.guards.target_kl", to=0.1)),
    "clipfrac_high": (_HALF_RATE, Change("ppo.guards.target_kl", to=0.1)),
    "clipfrac_zero": (Change("ppo.learning_rate", factor=2),),
    "policy_still": (Change("ppo.learning_rate", factor=10),),
    "reward_collapse": (_HALF_RATE, _MORE_KL),
    "negative_explained_variance": (Change("ppo.critic.learning_rate", factor=2),),
    "over_optimisation": (_MORE_KL,),
    "length_explosion": (_MORE_KL,),
    "length_collapse": (_MORE_KL,),
    "ensemble_disagreement": (_MORE_KL,),
    "truncation": (Change("ppo.max_new_tokens", factor=2),),
    "kl_outweighs_reward": (),
    "value_loss_spike": (_HALF_CRITIC_RATE,),
    "sampler_gap": (_MASK, _HALF_RATE),
    "sampler_differs": (_MASK,),
    "refill_short": (Change("ppo.rollout.refill.max_rounds", factor=2),),
    "teacher_kl_rises": (_HALF_RATE, Change("ppo.teacher.coef", factor=2)),
    "not_finite": (_HALF_RATE, _FLOAT32),
    "critic_worse_than_mean": (Change("ppo.critic.learning_rate", factor=2),),
    "critic_lags": (
        Change("ppo.critic.epochs", factor=2, left_out="ppo.epochs"),
        Change("ppo.critic.learning_rate", factor=2),
        _HALF_RATE,
    ),
    "critic_noise_whitened": (),
    "returns_outside_bins": (),
}
"""By rule. `kl_outweighs_reward` and `critic_noise_whitened` compute their values from the metrics of the step."""


_RATE, _TARGET = "ppo.learning_rate", "ppo.adaptive_rate.target"
"""Two fields. If the rate follows the KL, the second one decides the size of the steps."""


def suited(text: str, ppo: PPOSpec) -> str:
    """A suggestion in words, with the field that decides the size of the steps in this run."""
    return text.replace(f"`{_RATE}`", f"`{_TARGET}`") if ppo.rate_adapts else text


def suggested_values(spec: JobSpec, changes: tuple[Change, ...]) -> list[SuggestedValue]:
    """The changes with values for this spec. One that changes nothing, or that the spec's rules refuse, is left out."""
    stored = spec.model_dump(mode="json")
    return [found for change in changes if (found := _suggested(spec, stored, change)) is not None]


def _suggested(spec: JobSpec, stored: Mapping[str, Any], change: Change) -> SuggestedValue | None:
    if change.field == _RATE and spec.ppo.rate_adapts:
        change = replace(change, field=_TARGET)
    present = _at(stored, change.field)
    if present is None and change.left_out:
        present = _at(stored, change.left_out)
    value = change.to if change.factor is None else _multiple(present, change.factor)
    if value == present or _has_no_effect(spec, change.field):
        return None
    try:
        JobSpec.model_validate(_with(stored, change.field.split("."), value))
    except ValidationError:
        return None
    return SuggestedValue(change.field, value, change.factor)


def _at(stored: Any, field: str) -> Any:
    for name in field.split("."):
        stored = stored[name]
    return stored


def _multiple(present: float, factor: float) -> float:
    """The product, rounded to three significant digits; an integer stays one."""
    product = present * factor
    return round(product) if isinstance(present, int) else float(f"{product:.3g}")


def _has_no_effect(spec: JobSpec, field: str) -> bool:
    """A critic on the policy's backbone learns with the policy, and a teacher without rewards is weighed against nothing."""
    if field == "ppo.teacher.coef":
        return not spec.scoring
    return field == "ppo.critic.learning_rate" and not spec.ppo.has_separate_critic


def _with(stored: Mapping[str, Any], path: list[str], value: JsonValue) -> dict[str, Any]:
    first, *rest = path
    return {**stored, first: _with(stored[first], rest, value) if rest else value}
