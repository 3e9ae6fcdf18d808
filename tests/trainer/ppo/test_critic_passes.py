"""A critic with passes, minibatches and a learning-rate schedule of its own."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.trainer.ppo.test_critic_lambda import critic_by_hand
from tests.trainer.ppo.tools import PROMPTS, cast_for, iterate, spec_of, weights_of
from tests.trainer.ppo.toy import CODEC, PROMPT, REPRESENTATIVE, STEPS, actors, path, quarters
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn
from trainer.errors import Diverged
from trainer.health import Monitor
from trainer.ppo.experience import Experience, build_experience
from trainer.ppo.iteration_log import iteration_metrics, pass_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.state import PPOState
from trainer.ppo.update import passes, update
from trainer.rollout.batch import sample_and_score
from trainer.spec import HealthSpec, PPOSpec

APART: list[dict[str, Any]] = [
    {"epochs": 3},
    {"epochs": 1},
    {"minibatches": 3},
    {"minibatches": 1},
    {"epochs": 3, "minibatches": 6},
]


@pytest.mark.parametrize("plan", APART, ids=str)
def test_critic_apart_learns_as_in_a_run_with_its_plan(plan: dict[str, Any]) -> None:
    """Each model ends in the bits of a run whose policy and critic share that model's plan."""
    apart, _, _ = iterate(spec_of(critic=plan))
    policys, _, _ = iterate(spec_of())
    critics, _, _ = iterate(spec_of(**plan))
    assert torch.equal(weights_of(apart.policy), weights_of(policys.policy))
    assert torch.equal(weights_of(apart.critic), weights_of(critics.critic))
    assert not torch.equal(weights_of(apart.critic), weights_of(policys.critic))


def test_critic_plan_equal_to_the_policys_changes_no_bit() -> None:
    outcomes = [iterate(spec_of(critic=critic)) for critic in ({}, {"epochs": 2, "minibatches": 2})]
    (plain, _, before), (named, _, after) = outcomes
    assert torch.equal(weights_of(named.critic), weights_of(plain.critic))
    assert after.history == before.history and not after.critic_passes


def test_critic_apart_takes_its_own_steps() -> None:
    spec = spec_of(critic={"epochs": 3, "minibatches": 6})
    cast = cast_for(spec)
    experience, learners = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3), Learners.build(cast, spec)
    found = update(context_of(cast, spec), experience, learners, KLCoefficients(0.05, 1.0), 0)
    assert learners.critic is not None
    for learner, steps in ((learners.policy, 4), (learners.critic, 18)):
        states = learner.optimizer.state_dict()["state"].values()  # type: ignore[attr-defined]
        assert {int(state["step"]) for state in states} == {steps}
    assert [len(steps) for steps in found.critic_passes] == [6, 6, 6] and len(found.history) == 4
    assert not any("value_loss" in entry for entry in found.history)


def test_critic_pass_has_the_order_of_the_policys_pass() -> None:
    spec = spec_of(critic={"epochs": 3})
    policys, critics = (list(passes(6, one, 0, seed=0)) for one in (spec, spec.of_critic))
    assert critics[:2] == policys and len(critics) == 3
    assert all(sorted(row for rows in steps for row in rows) == list(range(6)) for steps in critics)


def toy_experience(spec: PPOSpec, critic: Any) -> tuple[Any, Any, Experience]:
    cast = actors(quarters(0.75), critic)
    context = context_of(cast, spec, CODEC)
    scored = sample_and_score(context, [PROMPT] * len(REPRESENTATIVE), REPRESENTATIVE)
    return cast, context, build_experience(context, scored, kl_coef=0.0)


def test_two_critic_passes_take_two_exact_gradient_steps() -> None:
    """Each gradient is that of ½ mean (V − R)² at the values of its own step, summed over the visits of each state."""
    rate = 1e-3
    spec = PPOSpec.model_validate(
        {
            "batch_size": 64, "epochs": 1, "minibatches": 1, "max_new_tokens": STEPS, "kl": {"coef": 0.0},
            "adam_eps": 1e-12, "warmup_ratio": 0.0, "max_grad_norm": 1e9, "shaping": {"missing_eos_penalty": 0},
            "advantage": {"critic_lambda": 1.0},
            "critic": {"epochs": 2, "learning_rate": rate, "schedule": "constant", "value_clip_range": None},
        }
    )  # fmt: skip
    critic = critic_by_hand()
    cast, context, experience = toy_experience(spec, critic)
    value = critic.score.weight.detach()[0].clone()
    losses, first, second = [], torch.zeros_like(value), torch.zeros_like(value)
    for step in (1, 2):  # Adam with β .9 and .999, by hand
        gradient, loss = torch.zeros_like(value), 0.0
        for row, response in enumerate(experience.scored.responses):
            for t, (state, _) in enumerate(path(response.ids)):
                error = float(value[state] - experience.returns_BR[row, t])
                gradient[state] += error / (64 * STEPS)
                loss += 0.5 * error**2 / (64 * STEPS)
        losses.append(loss)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        root = (second / (1 - 0.999**step)).sqrt() + 1e-12
        value = value - rate * first / (1 - 0.9**step) / root
    found = update(context, experience, Learners.build(cast, spec), KLCoefficients(0.0, 1.0), 0)
    torch.testing.assert_close(critic.score.weight.detach()[0], value, rtol=0, atol=1e-9)
    assert [steps[0]["value_loss"] for steps in found.critic_passes] == pytest.approx(losses, abs=1e-6)
    assert losses[1] < losses[0]


def test_guards_hold_for_the_policy_alone_if_critic_is_apart() -> None:
    critic = {"epochs": 3}
    free, _, _ = iterate(spec_of(critic=critic))
    for guards in ({"target_kl": 1e-9}, {"lr_cut_kl": 1e-9, "lr_cut_factor": 0.1}):
        held, _, _ = iterate(spec_of(critic=critic, guards=guards))
        assert torch.equal(weights_of(held.critic), weights_of(free.critic))
        assert not torch.equal(weights_of(held.policy), weights_of(free.policy))


def test_critic_warm_up_takes_the_critics_passes() -> None:
    cast, _, found = iterate(spec_of(critic={"epochs": 3, "warmup_steps": 1}))
    policy, _, _ = iterate(spec_of(critic={"epochs": 3}))
    assert torch.equal(weights_of(cast.policy), weights_of(cast_for(spec_of()).policy))
    assert torch.equal(weights_of(cast.critic), weights_of(policy.critic))
    assert found.history == [] and len(found.critic_passes) == 3 and found.last_pass is None


@pytest.mark.parametrize("named", [{"schedule": "cosine"}, {"warmup_ratio": 0.5}, {"schedule": "linear"}], ids=str)
def test_critic_schedule_is_its_own(named: dict[str, Any]) -> None:
    spec = spec_of(steps=4, critic=named | {"learning_rate": 0.2})
    learners = Learners.build(cast_for(spec), spec)
    assert learners.critic is not None
    expected = {
        "cosine": [0.2, 0.1707107, 0.1, 0.0292893],  # .1·(1 + cos(πt/4))
        "linear": [0.2, 0.15, 0.1, 0.05],
        "": [0.1, 0.2, 0.2, 0.2],  # two of four iterations of warm-up, then the policy's constant
    }[named.get("schedule", "")]
    assert [learners.critic.lr(step) for step in range(4)] == pytest.approx(expected, abs=1e-6)
    assert [learners.policy.lr(step) for step in range(4)] == [0.01] * 4


def test_critic_without_a_schedule_follows_the_policys() -> None:
    spec = spec_of(steps=4, lr_schedule="linear", critic={"learning_rate": 0.2})
    learners = Learners.build(cast_for(spec), spec)
    assert learners.critic is not None
    assert [learners.critic.lr(step) for step in range(4)] == pytest.approx([0.2, 0.15, 0.1, 0.05])


def test_critic_step_that_is_not_finite_is_skipped_alone() -> None:
    spec = spec_of(critic={"epochs": 3})
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    experience.returns_BR[0, 0] = torch.inf
    skipped: list[int] = []
    learners = replace(Learners.build(cast, spec), on_not_finite=lambda step, error: skipped.append(step))
    found = update(context_of(cast, spec), experience, learners, KLCoefficients(0.05, 1.0), 4)
    assert skipped == [5, 5, 5]  # iteration 4, once a pass
    assert [sorted(bool(entry) for entry in steps) for steps in found.critic_passes] == [[False, True]] * 3
    assert all(found.history) and torch.isfinite(weights_of(cast.critic)).all()
    plain, _, _ = iterate(spec_of(), iteration=4)
    assert torch.equal(weights_of(cast.policy), weights_of(plain.policy))


def test_critic_step_that_may_not_be_skipped_raises() -> None:
    spec = spec_of(critic={"epochs": 3})
    cast = cast_for(spec)
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=3)
    experience.returns_BR[0, 0] = torch.inf
    before = weights_of(cast.critic)
    with pytest.raises(Diverged, match="value loss is not finite"):
        update(context_of(cast, spec), experience, Learners.build(cast, spec), KLCoefficients(0.05, 1.0), 0)
    assert torch.isfinite(weights_of(cast.critic)).all() and before.shape == weights_of(cast.critic).shape


def test_pass_metrics_by_hand() -> None:
    steps = [[{"value_loss": 4.0}, {"value_loss": 2.0}], [{}, {"value_loss": 2.5}], [{"value_loss": 1.0}, {}]]
    assert pass_metrics(steps) == {"critic_steps": 4.0, "loss/value_first_pass": 3.0, "loss/value_last_pass": 1.0}
    assert pass_metrics([[{}, {}]]) == {"critic_steps": 0.0}
    assert pass_metrics([]) == {}


def test_metrics_show_the_passes_of_a_critic_apart() -> None:
    spec = spec_of(critic={"epochs": 3, "learning_rate": 1e-2}, guards={"lr_cut_kl": 1e-9, "target_kl": 9.0})
    cast, _, found = iterate(spec)
    state = PPOState.initial(spec, Monitor(HealthSpec(), spec))
    values = iteration_metrics(found, Learners.build(cast, spec), state, KLCoefficients(0.05, 1.0), spec, 0)
    assert values["critic_steps"] == 6 and values["policy/optimizer_steps"] == 4
    assert values["loss/value_last_pass"] < values["loss/value_avg"] < values["loss/value_first_pass"]
    assert (values["lr"], values["critic_lr"]) == pytest.approx((1e-2 * spec.guards.lr_cut_factor, 1e-2))
    assert values["val/first_minibatch_ratio"] == pytest.approx(1, abs=1e-4)
    shared = iterate(spec_of())[2]
    assert "critic_steps" not in iteration_metrics(
        shared, Learners.build(cast, spec), state, KLCoefficients(0.05, 1.0), spec_of(), 0
    )
