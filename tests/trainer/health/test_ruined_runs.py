"""The rules for runs that destroy themselves: updates that are too large, a policy that does not move, a reward that falls."""

import json
import random
from math import sqrt

import pytest

from tests.trainer.health.test_rules import HEALTHY, monitor, watch
from trainer.health.reward import RewardHistory

STILL = {"objective/kl": 2e-7, "policy/approxkl_avg": 1e-13, "policy/clipfrac_avg": 0.001}
AT_ONCE = {"warmup_ratio": 0.0}
SPREAD = 0.2
"""The standard deviation over responses in HEALTHY."""


def scored(scores: list[float], spread: float = SPREAD) -> list[dict[str, float]]:
    return [{"objective/scores": score, "objective/raw_scores_std": spread} for score in scores]


def collapses(scores: list[float], spread: float = SPREAD) -> list[int]:
    return [step for rule, step in watch(monitor(), scored(scores, spread)) if rule == "reward_collapse"]


def test_first_iteration_that_replaces_the_policy_is_reported() -> None:
    """An unseen task had these values in its first iteration, and healthy ones later."""
    history = [{"policy/approxkl_avg": 4.06, "policy/clipfrac_avg": 0.42}] + [{}] * 30
    assert watch(monitor(), history) == [("approxkl_jump", 1)]
    assert watch(monitor(), [{"policy/approxkl_avg": 1.0}]) == []


@pytest.mark.parametrize(
    ("values", "fires"),
    [
        (STILL, True),
        (STILL | {"policy/approxkl_avg": 0.0}, True),  # one optimizer step per iteration has no other value
        (STILL | {"objective/kl": -2e-5}, True),
        (STILL | {"objective/kl": 1e-4}, False),
        (STILL | {"objective/kl": -0.5}, False),  # far below 0: another policy is sampled (`negative_kl`)
        (STILL | {"policy/approxkl_avg": 1e-4}, False),
        (STILL | {"policy/approxkl_avg": 3e-4, "val/first_minibatch_approxkl": 2.5e-4}, True),  # rounding of bfloat16
        (STILL | {"objective/kl": 0.0, "objective/kl_initial": 0.5}, False),  # the reference moves along
        (STILL | {"objective/kl": 0.3, "objective/kl_initial": 1e-6}, True),
        (STILL | {"lr": 0.0}, False),
    ],
)
def test_policy_still_fires_after_twenty_steps_without_a_move(values: dict[str, float], fires: bool) -> None:
    assert watch(monitor(AT_ONCE), [values] * 40) == ([("policy_still", 20)] if fires else [])


def test_policy_still_leaves_out_warm_ups_and_skipped_steps() -> None:
    """Iterations 1 to 10 of 100 warm the learning rate up, and 1 to 15 the critic."""
    assert watch(monitor({"warmup_ratio": 0.1, "steps": 100}), [STILL] * 40) == [("policy_still", 30)]
    assert watch(monitor(AT_ONCE | {"critic": {"warmup_steps": 15}}), [STILL] * 40) == [("policy_still", 35)]
    skipping = [STILL | {"health/skipped_steps": float(total)} for total in range(1, 41)]
    assert watch(monitor(not_finite={"action": "off"}), skipping) == []


def test_a_policy_that_stops_after_it_moved_is_not_still() -> None:
    """At the end of a schedule the rate is near 0, and the KL to the first policy stays."""
    ended = {"policy/approxkl_avg": 1e-12, "lr": 1e-12}
    assert watch(monitor(), [{}] * 50 + [ended] * 50) == []


def test_reward_collapse_fires_when_two_blocks_lie_low() -> None:
    """0.4 of the spread .2 is .08. Blocks of ten: one high, then two that lie .09 lower."""
    assert collapses([0.5] * 10 + [0.41] * 40) == [30]
    assert collapses([0.5] * 10 + [0.43] * 60) == []  # .07 lower
    assert collapses([0.5] * 10 + [0.41] * 10 + [0.5] * 40) == []  # it does not stay


def test_reward_collapse_needs_half_of_the_gain_and_a_wider_fall() -> None:
    """Twice 0.4 of the spread is .16. The gain is 1.0, so that a fall of .45 is none, and one of .55 is."""
    risen = [0.0] * 10 + [1.0] * 40
    assert collapses(risen + [0.55] * 60) == []
    assert collapses(risen + [0.45] * 60) == [70]  # two of seven blocks
    assert collapses([0.5] * 10 + [0.6] * 10 + [0.45] * 60) == []  # .15 below the best, .05 below the start


def test_reward_collapse_waits_for_a_quarter_of_a_long_run() -> None:
    """60 blocks, then a low one each ten steps: 20 low blocks of 80 are a quarter."""
    assert collapses([0.5] * 600 + [0.3] * 300) == [800]


def test_reward_without_spread_left_needs_no_share_of_it() -> None:
    """A sparse score of 0 or 1 falls from .02 to 0: .14 of its spread, and no response differs from another."""
    fallen = scored([0.02, 0.03] * 5, 0.14) + scored([0.0] * 30, 0.0)
    assert [step for rule, step in watch(monitor(), fallen) if rule == "reward_collapse"] == [30]
    still_spread = scored([0.02, 0.03] * 5, 0.14) + scored([0.0] * 30, 0.1)
    assert [rule for rule, _ in watch(monitor(), still_spread)].count("reward_collapse") == 0
    once_alike = scored([0.02, 0.03] * 5, 0.14) + scored([0.0] * 10, 0.0) + scored([0.0] * 30, 0.1)
    assert [rule for rule, _ in watch(monitor(), once_alike)].count("reward_collapse") == 0


def test_reward_that_wanders_from_block_to_block_has_not_fallen() -> None:
    """Neighbours differ by .2, and a fall is three times that. Without it, .15 below the first block would be one."""
    assert collapses(([0.5] * 10 + [0.7] * 10) * 2 + [0.35] * 20) == []


def test_reward_that_dies_after_the_first_iteration_is_reported() -> None:
    """A string task at 100 times its learning rate: .027, and 0 from the second iteration on."""
    dead = scored([0.027], 0.053) + scored([0.0] * 40, 0.0)
    assert [step for rule, step in watch(monitor(), dead) if rule == "reward_collapse"] == [30]
    learnt = scored([0.027], 0.053) + scored([1.0] * 40, 0.0)  # all responses are right
    assert [rule for rule, _ in watch(monitor(), learnt)].count("reward_collapse") == 0


def test_reward_that_falls_within_ten_steps_is_reported() -> None:
    """It lies inside the first block. Twice 0.4 of the spread .2 is .16: a fall by .17 below the first iteration counts."""
    assert collapses([0.5, 0.45, 0.4] + [0.33] * 60) == [30]
    assert collapses([0.5] + [0.35] * 60) == []  # .15 lower
    assert collapses([0.5] + [0.33] * 18 + [0.5] * 40) == []  # it does not stay
    noisy = [0.5] + [0.33 + 0.15 * (-1) ** step for step in range(60)]
    assert collapses(noisy) == []  # the later iterations differ by as much


def test_reward_in_other_units_after_a_refit_is_no_collapse() -> None:
    history = scored([3.0] * 30 + [0.5] * 30)
    assert [rule for rule, _ in watch(monitor(), history)] == ["reward_collapse"]
    history[30] |= {"online/round": 1.0}
    assert watch(monitor(), history) == []


def test_reward_collapse_names_the_blocks() -> None:
    watched = monitor()
    watch(watched, scored([0.5] * 10 + [0.3] * 19))
    (finding,) = watched.look(30, HEALTHY | scored([0.3])[0])
    points = [(point.step, point.value) for point in finding.evidence]
    assert points == [(10, 0.5), (20, pytest.approx(0.3)), (30, pytest.approx(0.3))]
    assert "fell from 0.5 (steps up to 10) to 0.3 and has stayed low for 20 steps" in finding.cause


@pytest.mark.parametrize("stop", [7, 10, 15, 24, 29])
def test_windows_survive_a_resume(stop: int) -> None:
    """A run that is stopped after any step reports what the calm one reports."""
    history = [one | STILL for one in scored([0.5] * 10 + [0.3] * 40)]
    calm, before, after = monitor(AT_ONCE), monitor(AT_ONCE), monitor(AT_ONCE)
    expected = watch(calm, history)
    assert expected == [("policy_still", 20), ("reward_collapse", 30)]
    found = watch(before, history[:stop])
    after.restore(json.loads(json.dumps(before.state())))
    assert found + watch(after, history[stop:], stop + 1) == expected


def test_state_of_an_older_release_is_restored() -> None:
    """It lacks the new rules and the scores, and may hold a rule that is gone. Known streaks go on."""
    saved, restored = monitor(), monitor()
    watch(saved, [{}, {"policy/entropy_avg": 0.1}, {"policy/entropy_avg": 0.1}])
    state = json.loads(json.dumps(saved.state()))
    for name in ("approxkl_high", "approxkl_jump", "policy_still", "reward_collapse"):
        del state["streaks"][name]
    state["streaks"]["of_the_past"] = state["streaks"]["kl_blow_up"]
    del state["memory"]["rewards"], state["memory"]["block_complete"]
    restored.restore(state)
    bad = {"policy/entropy_avg": 0.1, "policy/approxkl_avg": 2.0}
    assert watch(restored, [bad], 4) == [("entropy_collapse", 4), ("approxkl_jump", 4)]
    assert set(restored.state()["streaks"]) == set(saved.state()["streaks"])


def test_roll_back_drops_the_iterations_since_the_last_block() -> None:
    watched = monitor()
    watch(watched, scored([0.5] * 10 + [0.3] * 10 + [0.0] * 9))  # with one step more, two low blocks
    watched.rearm()
    assert watch(watched, scored([0.5] * 30), 30) == []


def wandering(steps: int, rho: float, rng: random.Random) -> list[float]:
    """Sampling noise of 64 responses, and a slow movement of an eighth of the spread, AR(1) with `rho`."""
    size, scores = SPREAD / 8, list[float]()
    level = rng.gauss(0, size)
    for _ in range(steps):
        scores.append(0.5 + level + rng.gauss(0, SPREAD / 8))
        level = rho * level + rng.gauss(0, size * sqrt(1 - rho * rho))
    return scores


def found_in(scores: list[float]) -> bool:
    history = RewardHistory()
    for step, values in enumerate(scored(scores), 1):
        fall = history.fall(0.4) if history.add(step, values) else None
        if fall is not None and fall.fallen:
            return True
    return False


@pytest.mark.parametrize(("rho", "most"), [(0.5, 0), (0.8, 1), (0.95, 4)])
def test_slow_movements_are_rarely_called_a_collapse(rho: float, most: int) -> None:
    rng = random.Random(f"wandering {rho}")
    runs = [wandering(steps, rho, rng) for steps in (30, 60, 120, 300) for _ in range(40)]
    assert sum(map(found_in, runs)) <= most


def test_rising_scores_that_wander_are_no_collapse() -> None:
    rng = random.Random("rising")
    for steps in (60, 120, 300):
        for _ in range(20):
            slope = 1.0 / steps
            assert not found_in([score + slope * step for step, score in enumerate(wandering(steps, 0.95, rng))])


def test_noisy_falls_to_nothing_are_found() -> None:
    """.055 falls to 0 within 30 of 60 iterations; a score of 0 or more with a spread of .1, on 64 responses."""
    rng = random.Random("falling")
    for _ in range(20):
        falling = [max(0.0, 0.055 * (1 - step / 30)) for step in range(60)]
        noisy = [max(0.0, score + rng.gauss(0, 0.1 / 8 * sqrt(score / 0.055))) for score in falling]
        history = RewardHistory()
        steps = [{"objective/scores": score, "objective/raw_scores_std": 0.1 * sqrt(clean / 0.055)} for score, clean in zip(noisy, falling, strict=True)]  # fmt: skip
        falls = [history.fall(0.4) for step, values in enumerate(steps, 1) if history.add(step, values)]
        assert any(fall is not None and fall.fallen for fall in falls)
