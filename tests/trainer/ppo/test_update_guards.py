"""Brakes inside an iteration: when they act, on what, and for how long."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.tools import PROMPTS, cast_for, iterate, spec_of, weights_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn
from trainer.errors import Diverged
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import exceeds_target_kl, minibatches, steps_at_cut_rate, update
from trainer.spec import GuardsSpec


def test_target_kl_ends_passes_before_the_exceeding_step() -> None:
    _, _, free = iterate(spec_of())
    kls = [entry["approxkl"] for entry in free.history]
    limit = (kls[1] + kls[2]) / 2
    assert kls[0] < kls[1] < limit < kls[2]
    braked, _, updated = iterate(spec_of(guards={"target_kl": limit}))
    assert updated.stopped_early and len(updated.history) == 3
    assert "grad_norm" in updated.history[1] and "grad_norm" not in updated.history[2]
    shorter, _, _ = iterate(spec_of(epochs=1))  # two steps, as were taken
    assert torch.equal(weights_of(braked.policy), weights_of(shorter.policy))
    assert torch.equal(weights_of(braked.critic), weights_of(shorter.critic))
    assert all(parameter.grad is None for parameter in braked.policy.parameters())


def test_each_pass_and_iteration_has_an_order_of_its_own() -> None:
    spec = spec_of(epochs=2, minibatches=1)
    orders = [rows for iteration in range(3) for rows in minibatches(12, spec, iteration, seed=0)]
    assert len({tuple(rows) for rows in orders}) == 6
    assert all(sorted(rows) == list(range(12)) for rows in orders)
    assert [*minibatches(12, spec, 1, seed=0)] == orders[2:4] != [*minibatches(12, spec, 1, seed=1)]


@pytest.mark.parametrize(("count", "sizes"), [(8, [2, 2, 2, 2]), (7, [2, 2, 2, 1]), (5, [2, 2, 1]), (1, [1])])
def test_pass_over_fewer_responses_has_no_more_steps(count: int, sizes: list[int]) -> None:
    spec = spec_of(batch_size=8, epochs=1, minibatches=4)
    steps = list(minibatches(count, spec, 0, seed=0))
    assert [len(rows) for rows in steps] == sizes and sorted(row for rows in steps for row in rows) == [*range(count)]


@pytest.mark.parametrize("value", [float("nan"), 1e38], ids=["the loss is not finite", "the gradient overflows"])
def test_skipped_step_drops_gradients_of_finite_micro_batches(value: float) -> None:
    spec = spec_of(epochs=1, minibatches=2, micro_batch_size=1)  # micro-batches by rising length
    (first, _) = minibatches(6, spec, iteration=0, seed=0)

    def left_with(broken: list[int], value: float) -> tuple[Tensor, Tensor, list[dict[str, float]]]:
        cast = cast_for(spec)
        experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
        experience.advantages_BR[broken] = value
        learners = replace(Learners.build(cast, spec), on_not_finite=lambda step, trouble: None)
        updated = update(context_of(cast, spec), experience, learners, KLCoefficients(0.05, 1.0), 0)
        assert cast.critic is not None
        return weights_of(cast.policy), weights_of(cast.critic), updated.history

    lengths = respond_and_learn(cast_for(spec), PROMPTS, new_codec(), spec, seed=3).scored.batch.lengths
    last = max(first, key=lambda row: lengths[row])
    policy, critic, history = left_with([last], value)
    assert history[0] == {} and "grad_norm" in history[1]
    nothing_before, no_critic_before, _ = left_with(first, float("nan"))  # breaks at its first micro-batch
    assert torch.equal(policy, nothing_before) and torch.equal(critic, no_critic_before)


@pytest.mark.parametrize(
    ("left", "approxkl", "expected"), [(0, 0.016, 100), (7, 0.016, 100), (7, 0.015, 7), (0, 0.0, 0)]
)
def test_lr_cut_restarts_whenever_kl_exceeds_threshold(left: int, approxkl: float, expected: int) -> None:
    assert steps_at_cut_rate(left, approxkl, GuardsSpec(lr_cut_kl=0.015)) == expected


def test_approxkl_at_target_kl_is_not_too_far() -> None:
    guards = GuardsSpec(target_kl=0.1)
    assert not exceeds_target_kl(0.1, guards) and exceeds_target_kl(0.1001, guards)


def test_without_a_guard_nothing_is_too_far() -> None:
    assert not exceeds_target_kl(1e9, GuardsSpec()) and steps_at_cut_rate(0, 1e9, GuardsSpec()) == 0


def test_lr_cut_applies_to_policy_and_critic_for_its_steps() -> None:
    spec = spec_of(guards={"lr_cut_kl": 1e6, "lr_cut_factor": 0.25, "lr_cut_steps": 50})  # never cut anew
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    learners, rates = Learners.build(cast, spec), []
    assert learners.critic is not None
    for learner in (learners.policy, learners.critic):
        learner.optimizer.register_step_pre_hook(  # type: ignore[attr-defined]
            lambda optimizer, *_: rates.append(optimizer.param_groups[0]["lr"])
        )
    updated = update(context_of(cast, spec), experience, learners, KLCoefficients(0.05, 1.0), 0, cut_steps_left=3)
    assert rates == [0.0025] * 6 + [0.01] * 2  # three of the four steps, policy and critic
    assert updated.cut_steps_left == 0 and updated.rate_factor == 1.0


def test_lr_cut_starts_with_the_step_that_exceeded_kl() -> None:
    _, _, free = iterate(spec_of())
    assert free.history[0]["approxkl"] < 1e-8 < free.history[1]["approxkl"]
    _, _, updated = iterate(spec_of(guards={"lr_cut_kl": 1e-8, "lr_cut_steps": 5}))
    assert updated.cut_steps_left == 4 and updated.rate_factor == 0.5  # counted anew at the last step


@pytest.mark.parametrize(("broken", "name"), [("advantages_BR", "policy loss"), ("returns_BR", "value loss")])
def test_not_finite_micro_batch_loss_raises_before_the_step(broken: str, name: str) -> None:
    spec = spec_of(epochs=1, minibatches=1, micro_batch_size=1)
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    getattr(experience, broken)[2] = float("nan")
    before = weights_of(cast.policy)
    with pytest.raises(Diverged, match=f"The {name} is not finite"):
        update(context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.05, 1.0), 0)
    assert torch.equal(weights_of(cast.policy), before)
