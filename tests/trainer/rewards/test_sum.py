"""Several rewards as one: weights, names, and what is refused."""

import math
import re
from collections.abc import Sequence

import pytest
from pydantic import TypeAdapter

from tests.trainer.rewards.tools import answer, assert_missing, context
from trainer.errors import RewardError
from trainer.rewards import Missing, RewardInput, Rewards, build
from trainer.rewards.base import WeightedReward
from trainer.spec import RewardSpec, reward_names

SPECS: TypeAdapter[tuple[RewardSpec, ...]] = TypeAdapter(tuple[RewardSpec, ...])


class Gives:
    """A reward that gives what it was made with."""

    def __init__(self, *values: object) -> None:
        self.values = list(values)

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        return self.values  # type: ignore[return-value]  # what a broken reward does


def test_rewards_total_is_weighted_sum_of_unweighted_parts() -> None:
    specs = SPECS.validate_python(
        [
            {"type": "length", "target": 4, "unit": "characters", "weight": -0.5},
            {"type": "exact_match", "name": "right", "weight": 2},
        ]
    )
    scores = build(specs, context()).score([answer("ab", "ab"), answer("abcdef", "x")])
    assert scores.parts == {"length": [-0.5, -0.5], "right": [1.0, 0.0]}
    assert scores.totals == [2.25, 0.25]
    assert scores.figures == {}


def test_reward_names_are_unique() -> None:
    specs = SPECS.validate_python(
        [{"type": "length", "target": 1, "name": name} for name in ("length_2", None, None, "short", "short")]
    )
    assert reward_names(specs) == ["length_2", "length", "length_3", "short", "short_2"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), None, "1", True, 10**400])
def test_anything_but_a_finite_number_is_missing(value: object) -> None:
    rewards = Rewards([WeightedReward("fine", 1.0, Gives(1.0, 2)), WeightedReward("odd", 1.0, Gives(1.0, value))])
    scores = rewards.score([answer("a"), answer("b")])
    said = r"Reward `odd` returned .* for response 2 of 2; it must be a finite number"
    assert_missing(scores.totals[1], "bad_output", said)
    assert scores.totals[0] == 2.0 and scores.parts["fine"] == [1.0, 2.0]


def test_missing_value_without_weight_keeps_the_total() -> None:
    """A reward of weight 0 is only logged."""
    gone = Missing("crash", "gone")
    rewards = Rewards([WeightedReward("fine", 1.0, Gives(3.0)), WeightedReward("logged", 0.0, Gives(gone))])
    scores = rewards.score([answer("a")])
    assert scores.totals == [3.0] and scores.parts == {"fine": [3.0], "logged": [gone]} and scores.complete == [0]


def test_first_missing_reward_names_the_cause_of_the_total() -> None:
    late, gone = Missing("time_out", "late"), Missing("crash", "gone")
    rewards = Rewards([WeightedReward("a", 1.0, Gives(late, 1.0)), WeightedReward("b", 1.0, Gives(gone, gone))])
    scores = rewards.score([answer("a"), answer("b")])
    assert scores.totals == [late, gone] and scores.parts == {"a": [late, 1.0], "b": [gone, gone]}
    assert all(math.isnan(number) for number in scores.numbers)


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, 3.0], []])
def test_a_wrong_count_is_missing_for_all(values: list[float]) -> None:
    scores = Rewards([WeightedReward("odd", 1.0, Gives(*values))]).score([answer("a"), answer("b")])
    for total in scores.totals:
        assert_missing(total, "bad_output", f"Reward `odd` returned {len(values)} scores for 2 responses")


def test_an_error_names_the_reward_that_raised_it() -> None:
    rewards = build(SPECS.validate_python([{"type": "exact_match", "name": "maths"}]), context())
    with pytest.raises(RewardError, match="Reward `maths`: A prompt without an `answer`"):
        rewards.score([answer("4", None)])


def test_a_reward_that_cannot_be_built_is_named() -> None:
    specs = SPECS.validate_python([{"type": "length", "target": 2}, {"type": "plugin", "plugin": "nowhere"}])
    with pytest.raises(Exception, match=r"Reward `plugin`: no plug-in named 'nowhere' is installed"):
        build(specs, context())


@pytest.mark.parametrize(
    ("value", "weight", "said"), [(1e300, 1.0, "returned 1e+300"), (3e38, -2.0, "too large to be summed")]
)
def test_a_number_that_float32_does_not_hold_is_missing(value: float, weight: float, said: str) -> None:
    scores = Rewards([WeightedReward("huge", weight, Gives(value))]).score([answer("x")])
    assert_missing(scores.totals[0], "bad_output", re.escape(said))
    assert scores.parts["huge"] == scores.totals
