"""Several rewards as one: weights, names, and what is refused."""

import re
from collections.abc import Sequence

import pytest
from pydantic import TypeAdapter

from tests.trainer.rewards.tools import answer, context
from trainer.errors import RewardError
from trainer.rewards import RewardInput, Rewards, build
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
def test_anything_but_a_finite_number_ends_the_step(value: object) -> None:
    rewards = Rewards([WeightedReward("fine", 1.0, Gives(1.0, 2)), WeightedReward("odd", 1.0, Gives(1.0, value))])
    with pytest.raises(RewardError, match=r"Reward `odd` returned .* for response 2 of 2; it must be a finite number"):
        rewards.score([answer("a"), answer("b")])


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0, 3.0], []])
def test_a_wrong_count_ends_the_step(values: list[float]) -> None:
    with pytest.raises(RewardError, match=f"Reward `odd` returned {len(values)} scores for 2 responses"):
        Rewards([WeightedReward("odd", 1.0, Gives(*values))]).score([answer("a"), answer("b")])


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
def test_a_number_that_float32_does_not_hold_is_refused(value: float, weight: float, said: str) -> None:
    with pytest.raises(RewardError, match=re.escape(said)):
        Rewards([WeightedReward("huge", weight, Gives(value))]).score([answer("x")])
