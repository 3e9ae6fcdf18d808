"""The base class and the field types of every section of the spec."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from trainer.spec.nulls import is_null

StageName = Literal["sft", "reward_model", "dpo", "kto", "ppo", "evaluation"]
STAGES: tuple[StageName, ...] = ("sft", "reward_model", "dpo", "kto", "ppo", "evaluation")
"""The stages in the order of a run."""
Schedule = Literal["constant", "linear", "cosine"]
AdaptiveSchedule = Literal["auto", "constant", "linear", "cosine", "kl_adaptive"]
"""The schedules of PPO, whose rate may also follow the KL. A validated spec has no "auto"."""

LARGEST_NUMBER = 2**31 - 1
"""Largest integer of a spec. A larger one is a mistake, and programs that use it would overflow or never end."""


def _is_countable(value: int) -> int:
    if value > LARGEST_NUMBER:
        raise ValueError(f"must be at most {LARGEST_NUMBER:,}")
    return value


Countable = AfterValidator(_is_countable)
PositiveInt = Annotated[int, Field(ge=1), Countable]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
LearningRate = Annotated[float, Field(gt=0, lt=1)]
Path = Annotated[str, Field(min_length=1)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._=/-]{0,62}$")]
"""A label of a worker, such as `a100` or `zone=eu`."""


class Section(BaseModel):
    """Base of every part of the spec: frozen, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _null_has_a_notation(cls, value: Any) -> Any:
        """`{"null": true}` stands for null in any field. JSON that belongs to a field, such as a schema, is left as it is."""
        if not isinstance(value, dict):
            return value
        return {name: None if is_null(one) else one for name, one in value.items()}

    def refuse_idle(self, fields: Iterable[str], because: str) -> None:
        """Raise ValueError for a field that was changed from its default but could change nothing."""
        for name in fields:
            if getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True):
                raise ValueError(f"`{name}` has no effect {because}")
