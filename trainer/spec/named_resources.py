"""The fields of a spec that name models, files and addresses.

All code that resolves, allows or fetches them uses this list. Datasets are not in it: `DATASETS` lists those.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainer.spec.job import JobSpec
from trainer.spec.rewards import PathKind, Scorer

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
    found: list[tuple[FieldPath, PathKind, str | None]] = [
        (("model", "path"), "policy", spec.model.path),
        (("reward_model", "path"), "reward_model", spec.reward_model.path),
        (("ppo", "reference", "path"), "policy", spec.ppo.reference.path),
        (("evaluation", "against"), "policy", spec.evaluation.against),
    ]
    for at, scorer in scorers(spec):
        if isinstance(scorer, Scorer) and scorer.path_kind is not None:
            found.append(((*at, "path"), scorer.path_kind, getattr(scorer, "path")))  # noqa: B009 a field of the kind
    return [NamedPath(at, kind, value) for at, kind, value in found if value is not None]


def named_urls(spec: JobSpec) -> list[NamedUrl]:
    """Every address that the run sends requests for rewards or judgements to."""
    remote = [(at, one) for at, one in scorers(spec) if isinstance(one, Scorer) and one.is_remote]
    return [NamedUrl((*at, "url"), getattr(one, "url")) for at, one in remote]  # noqa: B009 a field of the kind


def scorers(spec: JobSpec) -> Iterator[tuple[FieldPath, Scorer | str | None]]:
    """The value of every field that can hold a reward or a judge: one of them, a judge's name, or None."""
    yield from ((("rewards", index), reward) for index, reward in enumerate(spec.rewards))
    yield ("evaluation", "judge"), spec.evaluation.judge
    if spec.ppo.online is not None:
        yield ("ppo", "online", "label_by"), spec.ppo.online.label_by


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
