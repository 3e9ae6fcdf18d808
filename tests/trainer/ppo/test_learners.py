"""The learning rates of PPO's learners."""

from dataclasses import replace

from tests.trainer.ppo.tools import NO_CRITIC, cast_for, spec_of
from trainer.errors import Diverged
from trainer.ppo.learners import Learners


def rates(learners: Learners) -> tuple[float, float | None]:
    return learners.policy.peak, learners.critic and learners.critic.peak


def test_retune_takes_both_peak_rates() -> None:
    spec = spec_of(learning_rate=1e-2, critic={"learning_rate": 3e-2})
    learners = Learners.build(cast_for(spec), spec)
    learners.retune(0.0025, 0.0075)
    assert rates(learners) == (0.0025, 0.0075)
    assert (learners.policy.lr(0), learners.critic and learners.critic.lr(0)) == (0.0025, 0.0075)


def test_retune_without_a_critic_changes_the_policy() -> None:
    spec = spec_of(advantage=NO_CRITIC)
    learners = Learners.build(cast_for(spec), spec)
    learners.retune(0.002, 0.5)
    assert rates(learners) == (0.002, None)


def test_learners_call_back_for_a_skipped_step() -> None:
    seen: list[int] = []
    spec = spec_of()
    learners = replace(Learners.build(cast_for(spec), spec), on_not_finite=lambda step, error: seen.append(step))
    learners.on_not_finite(7, Diverged("not finite"))
    assert seen == [7]
