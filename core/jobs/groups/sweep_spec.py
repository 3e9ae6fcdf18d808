"""A sweep: a base spec, and the fields that differ between its jobs. Combinations are drawn here, without a database."""

import copy
import itertools
import math
import random
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.errors import InvalidSpec, LimitExceeded
from core.models.groups import Goal

Values = dict[str, Any]
"""The value of each field that differs, by its path."""
_MOST_PARAMETERS = 20


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class _Between(_Part):
    """A distribution between two bounds."""

    min: float
    """Smallest value."""
    max: float
    """Largest value."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "_Between":
        if self.min >= self.max:
            raise ValueError("`min` must be below `max`")
        return self


class Uniform(_Between):
    """A number with the same density everywhere."""

    distribution: Literal["uniform"]
    """Always `uniform`."""

    def draw(self, source: random.Random) -> float:
        return source.uniform(self.min, self.max)


class LogUniform(_Between):
    """A number whose logarithm has the same density everywhere."""

    distribution: Literal["log_uniform"]
    """Always `log_uniform`."""

    @model_validator(mode="after")
    def _is_positive(self) -> "LogUniform":
        if self.min <= 0:
            raise ValueError("`min` must be above 0")
        return self

    def draw(self, source: random.Random) -> float:
        drawn = math.exp(source.uniform(math.log(self.min), math.log(self.max)))
        return min(max(drawn, self.min), self.max)  # exp rounds


class Integer(_Part):
    """An integer, each with the same probability."""

    distribution: Literal["int"]
    """Always `int`."""
    min: int
    """Smallest value."""
    max: int
    """Largest value, itself included."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "Integer":
        if self.min > self.max:
            raise ValueError("`min` must not be above `max`")
        return self

    def draw(self, source: random.Random) -> int:
        return source.randint(self.min, self.max)


class Choice(_Part):
    """One of a few values, each with the same probability."""

    distribution: Literal["choice"]
    """Always `choice`."""
    values: Annotated[list[Any], Field(min_length=1, max_length=1000)]
    """The values."""

    def draw(self, source: random.Random) -> Any:
        return source.choice(self.values)


Distribution = Annotated[Uniform | LogUniform | Integer | Choice, Field(discriminator="distribution")]
Grid = Annotated[list[Any], Field(min_length=1, max_length=1000)]


class SweepSpec(_Part):
    """Jobs that differ in a few fields. Lists alone are a grid: one job for each combination. `count` draws that many combinations."""

    name: Annotated[str, Field(max_length=200)] = ""
    """Name of the group, for people."""
    spec: dict[str, Any]
    """The job spec that all jobs share."""
    parameters: Annotated[dict[str, Grid | Distribution], Field(min_length=1, max_length=_MOST_PARAMETERS)]
    """Path of a field, such as `ppo.kl.coef` or `rewards.0.weight` → a list of values, or a distribution."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Number of combinations to draw. Required with a distribution. Left out: all combinations of the lists."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the draws. The same sweep with the same seed has the same jobs."""
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """Most jobs that are queued or run at once. The others are paused until there is room. Left out: no bound."""
    metric: Annotated[str, Field(min_length=1, max_length=200)] = "objective/scores"
    """The objective by which the jobs are compared: a figure of the run's summary, or a metric."""
    goal: Goal = Goal.MAXIMIZE
    """Whether the highest objective is the best, or the lowest, as for a loss."""

    @model_validator(mode="after")
    def _distributions_need_a_count(self) -> "SweepSpec":
        if self.count is None and any(not isinstance(one, list) for one in self.parameters.values()):
            raise ValueError("a distribution needs `count`, the number of combinations to draw")
        return self

    @property
    def size(self) -> int:
        """Number of jobs, without making them."""
        lists = (len(one) for one in self.parameters.values() if isinstance(one, list))
        return math.prod(lists) if self.count is None else self.count

    def check_size(self, limit: int) -> None:
        """Raises LimitExceeded for more jobs than `limit`."""
        if self.size > limit:
            text = f"The sweep has {self.size} jobs. `PROXIMAL_MAX_SWEEP_JOBS` allows {limit}."
            raise LimitExceeded(text, param="parameters", limit=limit, asked=self.size)

    def combinations(self) -> Iterator[Values]:
        """The values of each job, in order."""
        if self.count is None:
            lists = [one for one in self.parameters.values() if isinstance(one, list)]
            for values in itertools.product(*lists):
                yield dict(zip(self.parameters, values, strict=True))
            return
        source = random.Random(self.seed)
        for _ in range(self.count):
            yield {
                path: source.choice(one) if isinstance(one, list) else one.draw(source)
                for path, one in self.parameters.items()
            }

    def spec_with(self, values: Values) -> dict[str, Any]:
        """The base spec with these values. Raises InvalidSpec for a path that leads through a value without fields."""
        whole = copy.deepcopy(self.spec)
        for path, value in values.items():
            _put(whole, path, copy.deepcopy(value))
        return whole


def _put(whole: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    found: Any = whole
    for name in parents:
        found = found.setdefault(name, {}) if isinstance(found, dict) else _item(found, name, path)
    if isinstance(found, dict):
        found[last] = value
    else:
        _item(found, last, path)
        found[int(last)] = value


def _item(found: Any, name: str, path: str) -> Any:
    if not isinstance(found, list) or not name.isdecimal() or int(name) >= len(found):
        detail = f"The base spec has no `{path}`: {name!r} names no field or item there."
        raise InvalidSpec(detail, param=f"parameters.{path}", errors=[{"pointer": "#/parameters", "detail": detail}])
    return found[int(name)]
