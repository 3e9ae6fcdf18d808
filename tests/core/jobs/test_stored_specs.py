"""Stored specs: validated again, and changed by merge patches."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, InvalidSpec
from core.jobs.actions.branch import clone_job
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.submission.stored_specs import patched, spec_of
from core.settings import Settings
from tests.core.factories import make_job
from trainer.spec.nulls import merge_patch

# The examples of RFC 7396, appendix A: original, patch, result.
RFC_7396: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("original", "patch", "result"), RFC_7396)
def test_merge_patch_follows_the_examples_of_rfc_7396(original: Any, patch: Any, result: Any) -> None:
    assert merge_patch(original, patch) == result


def test_clone_has_the_patched_spec_and_its_parent(session: Session, settings: Settings) -> None:
    job = make_job(session, name="first", seed=3)
    made = clone_job(session, job, {"ppo": {"steps": 7}, "name": "second"}, settings, PLATFORM)
    assert (made.name, made.status, made.spec["ppo"]["steps"], made.spec["seed"]) == ("second", "queued", 7, 3)
    assert made.parent == {"job": job.id, "name": "first", "relation": "clone"}
    assert made.spec["data"] == job.spec["data"]  # the same rows


def test_clone_with_an_empty_patch_has_the_same_spec(session: Session, settings: Settings) -> None:
    job = make_job(session)
    assert clone_job(session, job, {}, settings, PLATFORM).spec == job.spec


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"ppo": {"stepz": 3}}, "#/ppo/stepz"),
        ({"ppo": {"steps": 0}}, "#/ppo/steps"),
        ({"model": None}, "#/model"),
        ({"ppo": {"batch_size": 5}}, "#/ppo"),
    ],
)
def test_patch_errors_point_into_the_merged_spec(session: Session, patch: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        patched(make_job(session).spec, patch)
    assert refusal.value.extras["errors"][0]["pointer"] == pointer


def test_patch_nested_too_deeply_is_refused() -> None:
    patch: dict[str, Any] = {}
    for _ in range(100_000):
        patch = {"a": patch}
    with pytest.raises(InvalidRequest, match="nested too deeply"):
        patched({}, patch)


def test_spec_of_an_older_release_is_refused_with_its_fault(session: Session) -> None:
    job = make_job(session)
    job.spec = job.spec | {"modell": {}}
    with pytest.raises(InvalidSpec, match=f"{job.id} was stored by an older release"):
        spec_of(job)
