"""The combinations of a sweep."""

import pytest
from pydantic import ValidationError

from core.errors import InvalidSpec, LimitExceeded
from core.jobs.groups.sweep_spec import SweepSpec

RANDOM = {
    "a": {"distribution": "uniform", "min": -1, "max": 2},
    "b": {"distribution": "log_uniform", "min": 1e-6, "max": 1e-3},
    "c": {"distribution": "int", "min": 3, "max": 4},
    "d": {"distribution": "choice", "values": ["x", None]},
    "e": [5, 6],
}


def sweep(parameters: object, **more: object) -> SweepSpec:
    return SweepSpec.model_validate({"spec": {"model": "m"}, "parameters": parameters} | more)


def test_lists_make_a_grid_in_order() -> None:
    grid = sweep({"ppo.kl.coef": [0.1, 0.2], "seed": [1, 2, 3]})
    assert grid.size == 6
    assert list(grid.combinations())[:4] == [
        {"ppo.kl.coef": 0.1, "seed": 1}, {"ppo.kl.coef": 0.1, "seed": 2}, {"ppo.kl.coef": 0.1, "seed": 3},
        {"ppo.kl.coef": 0.2, "seed": 1},
    ]  # fmt: skip


def test_draws_are_within_bounds_and_repeatable() -> None:
    drawn = list(sweep(RANDOM, count=200, seed=7).combinations())
    assert drawn == list(sweep(RANDOM, count=200, seed=7).combinations())
    assert drawn != list(sweep(RANDOM, count=200, seed=8).combinations())
    assert all(-1 <= one["a"] <= 2 and 1e-6 <= one["b"] <= 1e-3 for one in drawn)
    assert {one["c"] for one in drawn} == {3, 4} and {one["d"] for one in drawn} == {"x", None}
    assert {one["e"] for one in drawn} == {5, 6}
    assert 60 < sum(one["b"] < 10**-4.5 for one in drawn) < 140  # half of the logarithms


def test_a_huge_grid_is_refused_without_being_made() -> None:
    huge = sweep({name: list(range(100)) for name in "abcd"})
    with pytest.raises(LimitExceeded) as error:
        huge.check_size(100)
    assert error.value.extras["asked"] == 100_000_000 and "PROXIMAL_MAX_SWEEP_JOBS" in error.value.detail


def test_values_are_put_at_their_paths() -> None:
    base = {"spec": {"model": "m", "rewards": [{"weight": 1.0}]}, "parameters": {"seed": [1]}}
    made = SweepSpec.model_validate(base).spec_with({"rewards.0.weight": 2.0, "ppo.kl.coef": 0.1})
    assert made == {"model": "m", "rewards": [{"weight": 2.0}], "ppo": {"kl": {"coef": 0.1}}}


@pytest.mark.parametrize("path", ["model.path", "rewards.1.weight", "rewards.x", "rewards.-1.weight"])
def test_path_through_no_field_is_refused(path: str) -> None:
    base = {"spec": {"model": "m", "rewards": [{"weight": 1.0}]}, "parameters": {"seed": [1]}}
    with pytest.raises(InvalidSpec, match="names no field"):
        SweepSpec.model_validate(base).spec_with({path: 1})


@pytest.mark.parametrize(
    ("parameters", "more"),
    [
        ({}, {}),
        ({"a": []}, {}),
        ({"a": RANDOM["a"]}, {}),
        ({"a": {"distribution": "uniform", "min": 2, "max": 1}}, {"count": 1}),
        ({"a": {"distribution": "log_uniform", "min": 0, "max": 1}}, {"count": 1}),
        ({"a": {"distribution": "normal"}}, {"count": 1}),
        ({"a": [1]}, {"max_parallel": 0}),
    ],
)
def test_invalid_sweep_is_refused(parameters: object, more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        sweep(parameters, **more)


def test_values_below_a_value_leave_the_sweep_unchanged() -> None:
    whole = SweepSpec.model_validate({"spec": {}, "parameters": {"ppo": [{"steps": 1}], "ppo.steps": [2]}})
    (values,) = whole.combinations()
    assert whole.spec_with(values) == {"ppo": {"steps": 2}}
    assert whole.parameters == {"ppo": [{"steps": 1}], "ppo.steps": [2]}
