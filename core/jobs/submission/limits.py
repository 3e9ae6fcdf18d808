"""The limits on a job spec: of the amounts that fields declare, and of figures that are worked out from several fields.

They belong to the platform. `python -m trainer check` and `python -m trainer run` do not apply them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from core.errors import LimitExceeded
from core.settings import Settings
from trainer.spec import DATASETS, JobSpec, StageName
from trainer.spec.facts import Amount, FieldPath, facts_of
from trainer.spec.model_size import key_of

_SOME_DATA = {"preferences": "ds_any"}


@dataclass(frozen=True)
class SpecLimit:
    """A field of a spec, the figure that is limited, and the setting with its largest value."""

    field: str
    """Path of the field that decides the figure, such as `ppo.steps`."""
    what: str
    """The figure, for people."""
    figure: Callable[[JobSpec], int]
    setting: str
    """Name of the attribute of Settings."""
    size: str | None = None
    """The figure of a new model's configuration that decides, such as `layers`; its key may have another name."""

    def field_of(self, spec: JobSpec) -> str:
        """Path of the deciding field in this spec."""
        if self.size is None or spec.model.config is None:
            return self.field
        return f"{self.field}.{key_of(spec.model.config, self.size)}"

    @property
    def variable(self) -> str:
        """The environment variable of the setting."""
        return f"PROXIMAL_{self.setting.upper()}"


def _prompt_and_response(spec: JobSpec) -> int:
    return spec.data.max_prompt_tokens + spec.ppo.max_new_tokens


def _prompt_and_completion(spec: JobSpec) -> int:
    return spec.data.max_prompt_tokens + spec.data.max_completion_tokens


def _evaluated(spec: JobSpec) -> int:
    return spec.data.max_prompt_tokens + (spec.evaluation.max_new_tokens or spec.ppo.max_new_tokens)


def _batch_tokens(stage: StageName, sides: int, length: Callable[[JobSpec], int]) -> SpecLimit:
    """The limit on the tokens of a batch. A pair has two sides."""
    return SpecLimit(
        f"{stage}.batch_size",
        "tokens in a batch",
        lambda spec: sides * getattr(spec, stage).batch_size * length(spec),
        "max_batch_tokens",
    )


def _size(figure: str) -> Callable[[JobSpec], int]:
    """A figure of a new model; 0 for a pretrained one."""
    return lambda spec: getattr(spec.model.size, figure, 0)


def _value_of(path: FieldPath) -> Callable[[JobSpec], int]:
    """The value of a field; 0 if it, or the optional section that holds it, is left out."""

    def value(spec: JobSpec) -> int:
        found: Any = spec
        for name in path:
            found = getattr(found, name, 0)
        return int(found or 0)

    return value


SETTINGS = {
    "steps": "max_steps",
    "epochs": "max_epochs",
    "rows in a batch": "max_batch_size",
    "tokens in a sequence": "max_sequence_tokens",
    "ranks": "max_model_width",
    "seeds": "max_seeds",
}
"""The setting that limits each amount of a field (the fact `Amount`)."""

LIMITS = (
    SpecLimit("model.config", "parameters", _size("parameters"), "max_model_parameters"),
    SpecLimit("model.config", "layers", _size("layers"), "max_model_layers", "layers"),
    SpecLimit("model.config", "hidden numbers", _size("hidden"), "max_model_width", "hidden"),
    SpecLimit("model.config", "numbers in all heads", _size("attention"), "max_model_width", "heads"),
    SpecLimit("model.config", "feed-forward numbers", _size("feed"), "max_model_width", "feed"),
    SpecLimit("model.config", "heads", _size("heads"), "max_model_heads", "heads"),
    SpecLimit("model.config", "experts", _size("experts"), "max_model_experts", "experts"),
    SpecLimit("model.config", "positions", _size("positions"), "max_model_positions", "positions"),
    *(
        SpecLimit(".".join(path), amount.of, _value_of(path), SETTINGS[amount.of])
        for path, amount in facts_of(JobSpec, Amount).items()
    ),
    SpecLimit("ppo.max_new_tokens", "tokens in a sequence", _prompt_and_response, "max_sequence_tokens"),
    SpecLimit("data.max_completion_tokens", "tokens in a sequence", _prompt_and_completion, "max_sequence_tokens"),
    SpecLimit("evaluation.max_new_tokens", "tokens in a sequence", _evaluated, "max_sequence_tokens"),
    *(_batch_tokens(stage, 1, _prompt_and_completion) for stage in ("sft", "kto")),
    *(_batch_tokens(stage, 2, _prompt_and_completion) for stage in ("reward_model", "dpo")),
    _batch_tokens("ppo", 1, _prompt_and_response),
    _batch_tokens("evaluation", 1, _evaluated),
    SpecLimit("resources.processes", "processes", lambda spec: spec.resources.total, "max_processes"),
)
"""Every limit. A quota of an owner can be checked against the same figures."""


def check_limits(spec: JobSpec, settings: Settings) -> None:
    """Raise LimitExceeded with every figure of the spec that exceeds its limit."""
    exceeded = [
        (limit, figure, allowed)
        for limit in LIMITS
        if (figure := limit.figure(spec)) > (allowed := int(getattr(settings, limit.setting)))
    ]
    if not exceeded:
        return
    errors = [
        {
            "pointer": f"#/{limit.field_of(spec).replace('.', '/')}",
            "detail": f"{figure} {limit.what}; this platform allows {allowed} ({limit.variable})",
            "value": figure,
            "limit": allowed,
            "setting": limit.variable,
        }
        for limit, figure, allowed in exceeded
    ]
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    raise LimitExceeded(
        f"{errors[0]['pointer']}: {errors[0]['detail']}{more}. The operator of the platform can change the setting.",
        param=exceeded[0][0].field_of(spec),
        errors=errors,
    )


def check_partial_limits(raw: Mapping[str, Any], settings: Settings) -> None:
    """Raise LimitExceeded as `check_limits`, for a part of a spec. The job of a part that needs further fields is checked later."""
    data = raw.get("data") or {}
    whole = {"model": "some/model", **raw, "data": data if any(map(data.get, DATASETS)) else {**data, **_SOME_DATA}}
    try:
        spec = JobSpec.model_validate(whole)
    except ValidationError:
        return
    check_limits(spec, settings)
