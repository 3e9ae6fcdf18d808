"""`evaluation.pass_at`: which reward verifies, and which settings are refused."""

from typing import Any

import pytest

from tests.trainer.spec.test_spec import problems_of
from trainer.spec import JobSpec

EXACT: dict[str, Any] = {"type": "exact_match"}
NUMERIC = {"type": "numeric_match", "weight": 0}
HTTP = {"type": "http", "url": "http://checker/", "name": "checker"}
OTHERS: list[dict[str, Any]] = [{"type": "length", "target": 3}, {"type": "model", "path": "scorer"}]


def verifier_of(rewards: list[dict[str, Any]], **pass_at: Any) -> str:
    raw = {"model": "base", "data": {"prompts": "p"}, "stages": ["ppo", "evaluation"], "rewards": rewards}
    spec = JobSpec.model_validate(raw | {"evaluation": {"pass_at": pass_at}})
    assert JobSpec.model_validate(spec.model_dump(mode="json")) == spec
    assert spec.evaluation.pass_at is not None
    return spec.evaluation.pass_at.verifier(spec.rewards)


def test_the_only_rule_verifies_unless_another_is_named() -> None:
    assert verifier_of([*OTHERS, EXACT, HTTP]) == "exact_match"
    assert verifier_of([EXACT, NUMERIC], reward="numeric_match") == "numeric_match"
    assert verifier_of([EXACT, HTTP], reward="checker", threshold=7.5) == "checker"


@pytest.mark.parametrize(
    ("rewards", "pass_at", "problem"),
    [
        ([EXACT], {"k": [1, 4], "samples": 3}, "`samples` (3) must be at least the largest `k` (4)"),
        ([EXACT], {"k": [4, 1]}, "`k` must be ascending, each number once; it is [4, 1]"),
        ([EXACT], {"k": [2, 2]}, "`k` must be ascending"),
        ([EXACT], {"k": []}, "#/evaluation/pass_at/k"),
        ([EXACT], {"k": [0]}, "#/evaluation/pass_at/k"),
        ([EXACT, NUMERIC], {}, '`rewards` has 2 rules; there are: "exact_match", "numeric_match"'),
        ([HTTP], {}, '`rewards` has 0 rules; there are: "checker"'),
        ([], {}, "there are: no rewards"),
        ([EXACT], {"reward": "checker"}, 'no reward is named "checker"; there are: "exact_match"'),
        ([EXACT, *OTHERS], {"reward": "model"}, '"model" is of the type `model`, which does not verify'),
        ([EXACT, *OTHERS], {"reward": "length"}, '"length" is of the type `length`, which does not verify'),
        ([EXACT], {"threshold": 1.5}, "`evaluation.pass_at.threshold` (1.5) must be above 0 and at most 1"),
        ([EXACT], {"threshold": 0}, "`evaluation.pass_at.threshold` (0) must be above 0 and at most 1"),
    ],
)
def test_setting_that_measures_nothing_is_refused(
    rewards: list[dict[str, Any]], pass_at: dict[str, Any], problem: str
) -> None:
    found = problems_of(rewards=rewards, evaluation={"pass_at": pass_at})
    assert problem in " ".join(found)
