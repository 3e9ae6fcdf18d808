"""Fields of the spec and metrics of the run as columns of the list of jobs: shown, sorted by, and compared with values."""

import json
import re
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Double, SQLColumnExpression, and_, case, cast, func, literal, not_, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from core.db import unstorable_part
from core.errors import InvalidRequest
from core.models import Job
from core.models.jobs import SCORE
from trainer.spec import JobSpec
from trainer.spec.validation_errors import unknown_name

MOST_SHOWN, MOST_CONDITIONS = 20, 10
_LONGEST = 200
_HOW = "Write `spec:` and a field, such as `spec:ppo.kl.coef`, or `metric:` and a figure or metric, such as `metric:win_rate`"
_CONDITION = re.compile(r"(.+?)(<=|>=|!=|=|<|>)(.*)", re.DOTALL)
Operator = Literal["<=", ">=", "!=", "=", "<", ">"]


class WrongField(ValueError):
    """A name or condition that cannot be read. The text is for people, without its first word's capital and the full stop."""


@dataclass(frozen=True)
class JobField:
    """A field of the spec, or a figure or metric of the run."""

    kind: Literal["spec", "metric"]
    name: str
    """A path such as `ppo.kl.coef`, or a name such as `reward/length`."""

    @classmethod
    def parse(cls, text: str) -> "JobField":
        """Raises WrongField for an unknown field of the spec, and for other text."""
        kind, separator, name = text.partition(":")
        if not separator or kind not in ("spec", "metric") or not name:
            raise WrongField(f"{text!r} names no column. {_HOW}")
        if len(name) > _LONGEST or unstorable_part(name):
            raise WrongField(f"a name has at most {_LONGEST} characters, and none of them is NUL or half of a pair")
        if kind == "spec":
            _check_path(name)
            return cls("spec", name)
        return cls("metric", name)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def value(self, job: type[Job] = Job) -> SQLColumnExpression[Any]:
        """The value in SQL: JSON for a field of the spec, a number for a metric. SQL null where a job has none."""
        if self.kind == "spec":
            null = literal(None, JSONB(none_as_null=False))
            return func.nullif(job.spec[tuple(self.name.split("."))], null, type_=JSONB())
        return metric_value(self.name, job)


@dataclass(frozen=True)
class Condition:
    """A comparison of a field with a value."""

    field: JobField
    operator: Operator
    value: Any

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """A condition such as `spec:ppo.kl.coef>=0.1`. Raises WrongField."""
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise WrongField(
                f"{text!r} is no condition. Write a column, one of = != < <= > >=, and a value, such as `spec:ppo.kl.coef>=0.1`"
            )
        field, operator = JobField.parse(found[1].strip()), typing.cast(Operator, found[2])
        value = _value(found[3].strip())
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if operator not in ("=", "!=") and not is_number:
            raise WrongField(f"`{text}`: `{operator}` compares with a number, and {found[3].strip()!r} is none")
        if field.kind == "metric" and not is_number and value is not None:
            raise WrongField(
                f"`{text}`: a metric is compared with a number or with null, and {found[3].strip()!r} is neither"
            )
        return cls(field, operator, value)

    def clause(self, job: type[Job] = Job) -> ColumnElement[bool]:
        """The condition in SQL. A job without a value is equal to null only, so it fulfils `!=` for any other value."""
        value = self.field.value(job)
        if self.value is None:
            return value.is_(None) if self.operator == "=" else value.is_not(None)
        given = literal(self.value, JSONB()) if self.field.kind == "spec" else literal(float(self.value), Double())
        if self.operator in ("=", "!="):
            equal = func.coalesce(value == given, False)
            return equal if self.operator == "=" else not_(equal)
        compared: ColumnElement[bool] = value.op(self.operator, is_comparison=True)(given)
        if self.field.kind == "spec":  # JSON orders values of other types, too
            compared = and_(func.jsonb_typeof(value) == "number", compared)
        return func.coalesce(compared, False)


def metric_value(name: str | SQLColumnExpression[str], job: type[Job] = Job) -> SQLColumnExpression[float]:
    """The figure of the summary, else the newest value of the metric. `core.jobs.groups.groups.objective` in SQL.

    The score is the mean that the sparkline ends with, unless the summary has one: with several seeds, the newest value is that
    of one of them.
    """
    summary, latest, earlier = (
        cast(column[name].astext, Double) for column in (job.summary, job.latest_metrics, job.earlier_metrics)
    )
    is_score = literal(name) == SCORE if isinstance(name, str) else name == SCORE
    several = func.coalesce(cast(job.spec["seeds"].astext, Double), 1) > 1
    newest = case((and_(is_score, several), None), else_=latest)
    return func.coalesce(summary, newest, case((is_score, job.reward), else_=earlier))


def shown_values(session: Session, job_ids: Sequence[str], fields: Sequence[JobField]) -> dict[str, dict[str, Any]]:
    """The values of the fields for each of these jobs, by the text of the field; None where a job has none. One query."""
    if not fields:
        return {}
    query = select(Job.id, *(field.value() for field in fields)).where(Job.id.in_(job_ids))
    return {
        job_id: {str(field): value for field, value in zip(fields, values, strict=True)}
        for job_id, *values in session.execute(query)
    }


def _value(text: str) -> Any:
    """A JSON value; other text stands for itself."""

    def refuse(name: str) -> Any:
        raise WrongField(f"a value cannot be {name}")

    try:
        value = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError:
        value = text
    except RecursionError as error:
        raise WrongField("the value is nested too deeply") from error
    if isinstance(value, int | float) and not abs(value) < 1e300:
        raise WrongField(f"the number {text[:20]}… is too large")
    if unstorable_part(value):
        raise WrongField("the value holds a NUL character or half of a surrogate pair")
    return value


def _check_path(path: str) -> None:
    """Raises WrongField for a path that no spec has, with the nearest known name."""
    found: Sequence[Any] = (JobSpec,)
    for depth, part in enumerate(parts := path.split(".")):
        sections = [section for one in found for section in _sections(one)]
        if part.isdecimal() and any(_is_list(one) for one in found):
            continue
        if any(_is_dict(one) for one in found):
            return
        known = list(dict.fromkeys(name for section in sections for name in section.model_fields))
        if part not in known:
            where = f"`{'.'.join(parts[:depth])}` has an " if depth else ""
            raise WrongField(f"`spec:{path}`: {where}{unknown_name('field', part, known).rstrip('.')}")
        found = [section.model_fields[part].annotation for section in sections if part in section.model_fields]


def _sections(annotation: Any) -> list[type[BaseModel]]:
    """The models inside an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for inner in typing.get_args(annotation) for found in _sections(inner)]


def _is_list(annotation: Any) -> bool:
    return _has_origin(annotation, (list, tuple))


def _is_dict(annotation: Any) -> bool:
    return _has_origin(annotation, (dict,))


def _has_origin(annotation: Any, kinds: tuple[type, ...]) -> bool:
    if typing.get_origin(annotation) in kinds or annotation in kinds:
        return True
    return any(_has_origin(inner, kinds) for inner in typing.get_args(annotation))


def read_fields(texts: Sequence[str], param: str = "show") -> list[JobField]:
    """The columns that a request names, each once. Raises InvalidRequest."""
    return list(dict.fromkeys(_read(JobField.parse, texts, param, MOST_SHOWN)))


def read_conditions(texts: Sequence[str], param: str = "where") -> list[Condition]:
    """The conditions of a request. Raises InvalidRequest."""
    return _read(Condition.parse, texts, param, MOST_CONDITIONS)


T = typing.TypeVar("T")


def _read(parse: typing.Callable[[str], T], texts: Sequence[str], param: str, most: int) -> list[T]:
    if len(texts) > most:
        raise wrong_field(param, f"at most {most} are allowed, and {len(texts)} are given")
    try:
        return [parse(text) for text in texts]
    except WrongField as error:
        raise wrong_field(param, str(error)) from error


def wrong_field(param: str, detail: str) -> InvalidRequest:
    """The error for a parameter."""
    end = "" if detail.endswith("?") else "."
    return InvalidRequest(f"`{param}`: {detail}{end}", param=param, errors=[{"pointer": f"?{param}", "detail": detail}])
