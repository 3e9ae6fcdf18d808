"""Facts of a spec field beside its type, default and description. Each is metadata of its declaration:

    steps: Annotated[PositiveInt, MID_STAGE, MAIN, Amount("steps")] = 100

    fact            what follows from it
    Change          whether a run continued from a checkpoint may have another value (carry_over.py)
    Form, Dataset   where the dashboard's form shows the field (`x-form` and `x-dataset` of the JSON schema)
    Dataset, Names  what is resolved, fetched and checked (named_resources.py, data.py)
    Amount          the limits of a platform (core/jobs/submission/limits.py)
    LiveKnob        the knobs of a running job, in the trainer, the API, the SDK, the command line and the dashboard (knobs.py)

A fact of a section holds for each of its fields that has no such fact of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, get_args

from pydantic import GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from trainer.spec.section import Section

FieldPath = tuple[str, ...]
PathKind = Literal["policy", "reward_model", "classifier", "file"]
"""The content of a path: a causal language model, a model with a scalar head, a sequence classifier, or a plain file."""
F = TypeVar("F", bound="Fact")


class Fact:
    """Base of the facts."""

    schema_key: ClassVar[str] = ""
    """Key of the JSON schema of the field that holds the fact's one value; empty for a fact that the schema does not have."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core_schema) | ({self.schema_key: next(iter(vars(self).values()))} if self.schema_key else {})


@dataclass(frozen=True)
class Change(Fact):
    """When a run that continues from a checkpoint may have another value than the run that saved it."""

    when: Literal["anytime", "mid_stage", "mid_ppo", "between_stages", "never"]
    """`mid_stage`: in the middle of the field's stage. `between_stages`: only from the end of a stage."""
    because: str = ""
    """Why it can never change."""
    in_waiting: bool = False
    """Whether responses that were sampled ahead depend on it."""
    in_optimal_values: bool = False
    """Whether V* of the prompts depends on it."""


ANYTIME = Change("anytime")
MID_STAGE = Change("mid_stage")
MID_PPO = Change("mid_ppo")
BETWEEN_STAGES = Change("between_stages")


@dataclass(frozen=True)
class Form(Fact):
    """The place of a field in the dashboard's form. A field without this fact is shown on request."""

    schema_key = "x-form"
    place: Literal["main", "own"]
    """`main`: always shown. `own`: the form has a widget for this field, outside the list of fields."""


MAIN = Form("main")
OWN_WIDGET = Form("own")


@dataclass(frozen=True)
class Dataset(Fact):
    """The field names a dataset of this kind."""

    schema_key = "x-dataset"
    kind: str


@dataclass(frozen=True)
class Names(Fact):
    """The field names a model, a file or an address."""

    schema_key = "x-names"
    kind: PathKind | Literal["url"]


@dataclass(frozen=True)
class Amount(Fact):
    """An amount that a platform may limit, such as `epochs`. All fields of one amount have one limit."""

    of: str


@dataclass(frozen=True)
class LiveKnob(Fact):
    """The field, a number of a stage, can be changed while the stage runs."""

    name: str
    label: str
    """The name for people, in the dashboard."""
    unit: str
    new: str
    """The new value in words, for the API's reference: `KL coefficient β`."""
    most: float | None = None
    """Largest value that a request may set, for a field without a maximum. A slip of the keyboard ends a run beyond it."""
    missing: Callable[[Any], str | None] = lambda section: None
    """The reason why this section of a stage has no such knob, as a sentence; None if it has it."""
    above_minimum: Callable[[Any], bool] = lambda section: False
    """Whether the minimum itself is not allowed in this section of a stage."""


def fact_of(field: FieldInfo, kind: type[F]) -> F | None:
    """The fact of this kind at the declaration of a field; None without one."""
    return next((one for one in field.metadata if isinstance(one, kind)), None)


def fields_of(section: type[Section], path: FieldPath = ()) -> Iterator[tuple[FieldPath, FieldInfo]]:
    """Every field below a section, by its path. A section comes before its fields, also an optional one."""
    for name, field in section.model_fields.items():
        yield (*path, name), field
        inner = [one for one in (field.annotation, *get_args(field.annotation)) if _is_section(one)]
        if len(inner) == 1:
            yield from fields_of(inner[0], (*path, name))


def facts_of(section: type[Section], kind: type[F]) -> dict[FieldPath, F]:
    """The fields below a section that have a fact of this kind, declared at the field or at a section that holds it."""
    found: dict[FieldPath, F] = {}
    for path, field in fields_of(section):
        fact = fact_of(field, kind) or found.get(path[:-1])
        if fact is not None:
            found[path] = fact
    return found


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)
