"""The health rules of the critic, on histories written by hand."""

import json
from typing import Any

import pytest

from tests.trainer.health.test_rules import HEALTHY, monitor, watch
from trainer.health import Monitor
from trainer.health.changes import CHANGES, suggested_values
from trainer.spec import JobSpec

GOOD = {"critic/skill": 0.5, "critic/bias": 0.0, "critic/returns": 1.0, "critic/returns_std": 0.5}


def rising(steps: int, lag: int, rate: float = 0.1) -> list[dict[str, float]]:
    """Mean returns that rise from step to step, and values of the returns `lag` steps ago."""
    return [GOOD | {"critic/returns": rate * step, "critic/bias": -rate * min(lag, step)} for step in range(steps)]


def test_critic_worse_than_the_mean_fires_after_its_patience() -> None:
    history = [GOOD | {"critic/skill": -0.01}] * 19 + [GOOD] + [GOOD | {"critic/skill": -0.01}] * 30
    assert watch(monitor(), history) == [("critic_worse_than_mean", 40)]


@pytest.mark.parametrize("harmless", [GOOD | {"critic/skill": 0.0}, GOOD | {"critic/skill": -9.0, "critic/returns_std": 0.04}, {}])  # fmt: skip
def test_critic_at_the_limit_or_with_nothing_to_foresee_is_fine(harmless: dict[str, float]) -> None:
    """The spread of the returns was .5 at first, a tenth of which is .05."""
    assert watch(monitor(), [GOOD] + [harmless] * 40) == []


def test_finding_about_a_bad_critic_speaks_in_plain_words() -> None:
    found = monitor(critic_worse_than_mean={"patience": 1}).look(1, HEALTHY | GOOD | {"critic/skill": -0.5})
    (finding,) = found
    assert finding.cause == (
        "`critic/skill` is -0.5, below 0: the squared error of the critic is 1.5 times that of the mean return: "
        "the critic is worse than the mean return would be, so its advantages mislead the policy."
    )
    assert finding.suggestion.startswith("Pretrain the critic: set `ppo.critic.pretraining`")


WORSE = GOOD | {"critic/skill": -0.5, "val/explained_var": -0.4}


def test_critic_worse_than_a_constant_has_one_finding() -> None:
    assert watch(monitor(), [WORSE] * 60) == [("critic_worse_than_mean", 20)]
    late = [GOOD | {"critic/skill": -0.5}] * 10 + [WORSE] * 60  # a bias first, which the explained variance leaves out
    assert watch(monitor(), late) == [("critic_worse_than_mean", 20)]


def test_second_finding_about_a_critic_has_the_graver_action() -> None:
    both = [("negative_explained_variance", 20), ("critic_worse_than_mean", 20)]
    assert watch(monitor(negative_explained_variance={"action": "pause"}), [WORSE] * 60) == both
    alone = monitor(critic_worse_than_mean={"action": "off"})
    assert watch(alone, [WORSE] * 60) == both[:1]


def test_critic_that_lags_is_found_and_one_that_keeps_up_is_not() -> None:
    """Half of the spread is .25: values of three steps ago are .3 too low, those of two steps .2."""
    assert watch(monitor(), rising(40, lag=3)) == [("critic_lags", 15)]  # five steps before, then ten
    assert watch(monitor(), rising(40, lag=2)) == []
    assert watch(monitor(), rising(40, lag=3, rate=-0.1)) == [("critic_lags", 15)]


def test_returns_outside_the_bins_are_found_after_ten_steps() -> None:
    def shares(*values: float) -> list[dict[str, float]]:
        return [{"val/returns_outside_bins": value} for value in values]

    assert watch(monitor(), shares(*[0.06] * 9, 0.05, *[0.06] * 12)) == [("returns_outside_bins", 20)]


def test_constant_bias_is_no_lag() -> None:
    """Returns that do not move are as far from the values at every step."""
    assert watch(monitor(), [GOOD | {"critic/bias": 0.9, "critic/returns": 1 + 0.01 * (step % 2)} for step in range(40)]) == []  # fmt: skip


def test_finding_about_a_lag_names_the_step_of_the_values() -> None:
    found = monitor(critic_lags={"patience": 1})
    findings = [one for step, values in enumerate(rising(10, lag=4), 1) for one in found.look(step, HEALTHY | values)]
    assert findings[0].step == 6 and findings[0].suggestion.startswith("Raise `ppo.critic.epochs`")
    assert findings[0].cause == (
        "The mean value 0.1 lies 0.4 below the mean return 0.5, more than 0.5 of their spread 0.5, and nearest to the mean "
        "return 0.1 of step 2: the critic lags behind the policy."
    )


@pytest.mark.parametrize("ppo", [{"critic": {"warmup_steps": 60}}, {"advantage": {"estimator": "sequence"}}])
def test_rules_leave_out_warm_up_and_runs_without_a_critic(ppo: dict[str, object]) -> None:
    history = [values | {"critic/skill": -1.0} for values in rising(50, lag=5)]
    assert watch(monitor(ppo), history) == []


def test_value_pretraining_is_left_out() -> None:
    found = monitor()
    for step, values in enumerate(rising(50, lag=5), 1):
        assert found.look(step, HEALTHY | values | {"critic/skill": -1.0}, iteration=0) == []


def test_state_survives_a_checkpoint_also_of_an_older_release() -> None:
    history = rising(40, lag=3)
    plain, first = monitor(), monitor()
    expected = watch(plain, history)
    early = watch(first, history[:12])
    state = json.loads(json.dumps(first.state()))

    def resumed() -> Monitor:
        found = monitor()
        found.restore(state)
        return found

    assert early + watch(resumed(), history[12:], 13) == expected == [("critic_lags", 15)]
    del state["memory"]["returns"], state["streaks"]["critic_lags"]
    assert watch(resumed(), history[12:], 13) == [("critic_lags", 27)]


@pytest.mark.parametrize(
    ("ppo", "expected"),
    [
        ({"epochs": 3}, 6),
        ({"epochs": 3, "critic": {"epochs": 5}}, 10),
        ({"critic": {"kind": "value_head"}}, None),
    ],
)
def test_lag_suggests_twice_the_passes_of_the_critic(ppo: dict[str, object], expected: int | None) -> None:
    """Left out, they are the policy's. A value head learns in the policy's passes, so the spec refuses passes of its own."""
    spec = JobSpec.model_validate({"model": "m", "data": {"preferences": "d"}, "ppo": ppo})
    values = {one.field: one.value for one in suggested_values(spec, CHANGES["critic_lags"])}
    assert values.get("ppo.critic.epochs") == expected


EQUAL = {"objective/raw_scores_std": 0.0, "val/eos_rate": 1.0}
NO_KL: dict[str, Any] = {"kl": {"coef": 0.0}}


def test_whitened_noise_is_found_after_five_equal_batches() -> None:
    assert watch(monitor(NO_KL), [{}] + [EQUAL] * 4 + [{}] + [EQUAL] * 5) == [("critic_noise_whitened", 11)]


@pytest.mark.parametrize(
    "ppo",
    [
        {},  # the KL in the reward
        {**NO_KL, "advantage": {"normalize": "none"}},
        {**NO_KL, "advantage": {"whiten_floor": 0.01}},
        {**NO_KL, "advantage": {"estimator": "reward_to_go"}},
        {**NO_KL, "shaping": {"length_penalty": 0.1}},
    ],
)
def test_equal_scores_with_another_signal_are_no_finding(ppo: dict[str, Any]) -> None:
    assert watch(monitor(ppo), [{}] + [EQUAL] * 20) == []


def test_some_responses_cut_off_tell_equal_scores_apart() -> None:
    assert watch(monitor(NO_KL), [{}] + [EQUAL | {"val/eos_rate": 0.5}] * 20) == []


def test_whitened_noise_suggests_a_tenth_of_the_first_spread() -> None:
    """The first spread is .2 in raw scores, and half as much in scores that are divided by 2."""
    found = monitor(NO_KL, critic_noise_whitened={"patience": 1})
    found.look(1, HEALTHY)
    (finding,) = found.look(2, HEALTHY | EQUAL | {"objective/score_scale": 2.0})
    assert finding.suggestion.startswith("Set `ppo.advantage.whiten_floor` to 0.01, a tenth")
