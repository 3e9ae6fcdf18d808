"""The learning rates of PPO's learners."""

from dataclasses import replace

import pytest

from tests.trainer.ppo.tools import NO_CRITIC, cast_for, spec_of
from trainer.errors import Diverged
from trainer.ppo.learners import Learners
from trainer.spec import PPOSpec


def rates(learners: Learners) -> tuple[float, float | None]:
    return learners.policy.peak, learners.critic and learners.critic.peak


def spec_with(rate: float, critic: float) -> PPOSpec:
    return spec_of(learning_rate=rate, critic={"learning_rate": critic})


def test_retune_keeps_the_factor_of_the_roll_backs() -> None:
    spec = spec_with(1e-2, 3e-2)
    learners = Learners.build(cast_for(spec), spec)
    learners.retune(spec, 0.25)
    assert rates(learners) == (0.0025, 0.0075)
    learners.retune(spec_with(4e-2, 8e-2), 0.25)
    assert rates(learners) == (0.01, 0.02)
    assert (learners.policy.lr(0), learners.critic and learners.critic.lr(0)) == (0.01, 0.02)


def test_retune_without_a_critic_changes_the_policy() -> None:
    spec = spec_of(advantage=NO_CRITIC)
    learners = Learners.build(cast_for(spec), spec)
    learners.retune(spec_of(advantage=NO_CRITIC, learning_rate=4e-3), 0.5)
    assert rates(learners) == (0.002, None)


@pytest.mark.parametrize(("schedule", "critic"), [(None, 0.015), ("constant", 0.03)])
def test_rate_that_follows_the_kl_moves_the_critic_too(schedule: str | None, critic: float) -> None:
    """But not a critic with a schedule of its own."""
    own = {"learning_rate": 3e-2, "schedule": schedule}
    spec = spec_of(learning_rate=1e-2, lr_schedule="kl_adaptive", critic=own)
    learners = Learners.build(cast_for(spec), spec)
    learners.retune(spec, 1.0, adapted=0.5)
    assert rates(learners) == (0.005, critic)


def test_learners_call_back_for_a_skipped_step() -> None:
    seen: list[int] = []
    spec = spec_of()
    learners = replace(Learners.build(cast_for(spec), spec), on_not_finite=lambda step, error: seen.append(step))
    learners.on_not_finite(7, Diverged("not finite"))
    assert seen == [7]
