"""The fields of a spec that name models, files and addresses.

All code that resolves, allows or fetches them uses this list. The fact `Names` puts a field on it. Datasets are not on it:
`DATASETS` lists those.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainer.spec.facts import Names, PathKind, fact_of
from trainer.spec.job import JobSpec
from trainer.spec.section import Section

FieldPath = tuple[str | int, ...]


@dataclass(frozen=True)
class _NamedField:
    at: FieldPath
    """The keys that lead to the field, as `("rewards", 0, "path")`."""

    @property
    def pointer(self) -> str:
        """The field as a JSON pointer: `#/rewards/0/path`."""
        return _pointer(self.at)

    @property
    def param(self) -> str:
        """The field in dotted form: `rewards.0.path`."""
        return ".".join(map(str, self.at))


@dataclass(frozen=True)
class NamedPath(_NamedField):
    """A field that holds a path, with its value."""

    kind: PathKind
    value: str

    @property
    def is_model(self) -> bool:
        """Whether the path is a folder with a model or a hub id. Otherwise it is a plain file."""
        return self.kind != "file"


@dataclass(frozen=True)
class NamedUrl(_NamedField):
    """A field that holds an address, with its value."""

    value: str


def named_paths(spec: JobSpec) -> list[NamedPath]:
    """Every path that is given, in the spec's order."""
    return [NamedPath(at, kind, value) for at, kind, value in _named(spec, ()) if kind != "url"]


def named_urls(spec: JobSpec) -> list[NamedUrl]:
    """Every address that the run sends requests for rewards or judgements to."""
    return [NamedUrl(at, value) for at, kind, value in _named(spec, ()) if kind == "url"]


def _named(value: Any, at: FieldPath) -> Iterator[tuple[FieldPath, PathKind | Literal["url"], str]]:
    """The given fields with the fact `Names` below a section or in a list of sections."""
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _named(item, (*at, index))
    if not isinstance(value, Section):
        return
    for name, field in type(value).model_fields.items():
        inner, fact = getattr(value, name), fact_of(field, Names)
        if fact is not None and inner is not None:
            yield (*at, name), fact.kind, inner
        yield from _named(inner, (*at, name))


def with_paths(spec: JobSpec, paths: Mapping[FieldPath, str]) -> JobSpec:
    """The same spec with other paths in these fields."""
    raw: dict[str, Any] = spec.model_dump(mode="json")
    for at, value in paths.items():
        put(raw, _pointer(at), value)
    return JobSpec.model_validate(raw)


def put(raw: Any, pointer: str, value: str) -> None:
    """Set the field at a pointer of a spec in its JSON form."""
    *parents, last = pointer.removeprefix("#/").split("/")
    for key in parents:
        raw = raw[int(key) if isinstance(raw, list) else key]
    raw[last] = value


def _pointer(at: FieldPath) -> str:
    return "#/" + "/".join(map(str, at))
