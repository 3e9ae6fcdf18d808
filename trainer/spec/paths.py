"""Where a spec names models, files and addresses: one list for all who resolve, allow or fetch them.

Datasets are not among them: see `DATASETS`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainer.spec.job import JobSpec
from trainer.spec.rewards import ClassifierReward, HttpJudge, HttpReward, LexiconReward, ModelReward

PathKind = Literal["policy", "reward_model", "classifier", "file"]
"""What lies there: a causal language model, a model with a scalar head, any sequence classifier, or a plain file."""
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class _Named:
    at: Place
    """The keys that lead to the field, as `("rewards", 0, "path")`."""

    @property
    def pointer(self) -> str:
        """As JSON pointer: `#/rewards/0/path`."""
        return _pointer(self.at)

    @property
    def param(self) -> str:
        """As people write it: `rewards.0.path`."""
        return ".".join(map(str, self.at))


@dataclass(frozen=True)
class NamedPath(_Named):
    """A field that holds a path, and what it holds."""

    kind: PathKind
    value: str


@dataclass(frozen=True)
class NamedUrl(_Named):
    """A field that holds an address, and what it holds."""

    value: str


def named_paths(spec: JobSpec) -> list[NamedPath]:
    """Every path that is given, in the spec's order."""
    return list(_named_paths(spec))


def named_urls(spec: JobSpec) -> list[NamedUrl]:
    """Every address that the run would ask for rewards or judgements."""
    rewards = _rewards(spec)
    return [NamedUrl((*at, "url"), reward.url) for at, reward in rewards if isinstance(reward, HttpReward | HttpJudge)]


def with_paths(spec: JobSpec, paths: Mapping[Place, str]) -> JobSpec:
    """The same spec with other paths at these places."""
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


def _named_paths(spec: JobSpec) -> Iterator[NamedPath]:
    yield from _given(("model", "path"), "policy", spec.model.path)
    yield from _given(("reward_model", "path"), "reward_model", spec.reward_model.path)
    yield from _given(("ppo", "reference", "path"), "policy", spec.ppo.reference.path)
    yield from _given(("evaluation", "against"), "policy", spec.evaluation.against)
    for at, reward in _rewards(spec):
        match reward:
            case ModelReward():
                yield from _given((*at, "path"), "reward_model", reward.path)
            case ClassifierReward():
                yield from _given((*at, "path"), "classifier", reward.path)
            case LexiconReward():
                yield from _given((*at, "path"), "file", reward.path)


def _rewards(spec: JobSpec) -> Iterator[tuple[Place, object]]:
    """Whatever stands where a reward can stand: also a judge's name, or nothing."""
    yield from ((("rewards", index), reward) for index, reward in enumerate(spec.rewards))
    yield ("evaluation", "judge"), spec.evaluation.judge
    if spec.ppo.online is not None:
        yield ("ppo", "online", "label_by"), spec.ppo.online.label_by


def _given(at: Place, kind: PathKind, value: str | None) -> Iterator[NamedPath]:
    if value is not None:
        yield NamedPath(at, kind, value)


def _pointer(at: Place) -> str:
    return "#/" + "/".join(map(str, at))
