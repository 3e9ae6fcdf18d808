"""PPO in float16: a step is taken whole or not at all, and a resumed run ends with the same bits."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.ppo.tools import PROMPTS, cast_for, spec_of, weights_of
from tests.trainer.run.tools import LENGTH, contents, crashing, run
from tests.trainer.run.tools import spec_of as job_of
from tests.trainer.running import metrics_of
from tests.trainer.stage_tools import context_of, new_codec, respond_and_learn
from trainer.models.heads import ValueHead, compute_in
from trainer.optim import loss_scale
from trainer.ppo.iteration_log import pass_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.update import UpdateResult, update
from trainer.rollout.context import PPOModels
from trainer.run.trial_step import trial_steps
from trainer.spec import PPOSpec

FLOAT16 = {"dtype": "float16"}
TOO_HIGH = 2.0**24


def cast_in_float16(spec: PPOSpec) -> PPOModels:
    cast = cast_for(spec)
    for model in (cast.policy, cast.critic):
        if model is not None and not isinstance(model, ValueHead):
            compute_in(model, torch.float16)
    return cast


def updated(cast: PPOModels, spec: PPOSpec, learners: Learners) -> UpdateResult:
    experience = respond_and_learn(cast, PROMPTS, new_codec(), spec, seed=1)
    return update(context_of(cast, spec), experience, learners, KLCoefficients(spec.kl.coef, 0.0), 0)


def test_overflow_of_the_critic_leaves_the_policy_alone() -> None:
    spec = spec_of(epochs=1, minibatches=1)
    cast = cast_in_float16(spec)
    learners = Learners.build(cast, spec)
    assert learners.critic is not None and learners.critic.loss_scale is not None
    learners.critic.loss_scale.value = TOO_HIGH
    before = weights_of(cast.policy), weights_of(cast.critic)
    result = updated(cast, spec, learners)
    assert result.history == [{}] and result.moved_nothing and result.skipped == 1
    assert torch.equal(weights_of(cast.policy), before[0]) and torch.equal(weights_of(cast.critic), before[1])
    assert learners.scale_metrics == {
        "loss_scale": 65536.0,
        "overflows": 0.0,
        "critic_loss_scale": TOO_HIGH / 2,
        "critic_overflows": 1.0,
    }


def test_overflow_in_a_pass_of_the_critic_alone_is_counted() -> None:
    spec = spec_of(epochs=1, minibatches=1, critic={"epochs": 2, "minibatches": 1})
    cast = cast_in_float16(spec)
    learners = Learners.build(cast, spec)
    assert learners.critic is not None and learners.critic.loss_scale is not None
    learners.critic.loss_scale.value = TOO_HIGH
    before = weights_of(cast.policy)
    result = updated(cast, spec, learners)
    assert "grad_norm" in result.history[0] and not torch.equal(weights_of(cast.policy), before)
    assert pass_metrics(result.critic_passes)["critic_steps"] == 2 - learners.critic.loss_scale.overflows < 2


def test_value_head_learns_at_the_scale_of_its_policy() -> None:
    spec = spec_of(critic={"kind": "value_head", "warmup_steps": 1})
    heads = []
    for dtype in (torch.float32, torch.float16):
        cast = cast_for(spec)
        compute_in(cast.policy, dtype)
        result = updated(cast, spec, Learners.build(cast, spec))
        heads.append(torch.cat([weight.detach().flatten() for weight in cast.critic.parameters()]))  # type: ignore[union-attr]
        assert all("grad_norm" in entry for entry in result.history)
    torch.testing.assert_close(heads[1], heads[0], atol=2e-3, rtol=0)
    assert heads[0].abs().max() > 0.01


def test_gradients_in_float16_are_those_of_float32_nearly() -> None:
    norms = []
    for dtype in (torch.float32, torch.float16):
        spec = spec_of(epochs=1, minibatches=1, ptx=None)
        cast = cast_for(spec)
        compute_in(cast.policy, dtype), compute_in(cast.critic, dtype)
        norms.append(updated(cast, spec, Learners.build(cast, spec)).history[0])
    for name in ("grad_norm", "critic_grad_norm"):
        assert norms[1][name] == pytest.approx(norms[0][name], rel=0.01)


@pytest.fixture
def too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first steps of every stage overflow."""
    monkeypatch.setattr(loss_scale, "INITIAL", TOO_HIGH)


def test_run_killed_after_overflows_ends_with_the_same_bits(
    first: Path, tmp_path: Path, too_high: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    common: dict[str, Any] = {
        "model": {"path": str(first / "sft")} | FLOAT16,
        "rewards": [LENGTH],
        "ppo": {"steps": 6, "save_every": 2},
    }
    run(tmp_path / "whole", ["ppo"], **common)
    with crashing(monkeypatch, "ppo", 3):
        run(tmp_path / "killed", ["ppo"], **common)
    run(tmp_path / "killed", ["ppo"], **common)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    found = metrics_of(tmp_path / "whole")
    assert metrics_of(tmp_path / "killed") == found
    last = max(step for stage, step in found if stage == "ppo")
    assert found["ppo", last]["overflows"] + found["ppo", last]["critic_overflows"] > 0


def test_trial_step_is_taken_at_a_scale_that_fits(first: Path, too_high: None) -> None:
    ppo = {"lr_schedule": "kl_adaptive", "warmup_ratio": 0.0, "steps": 1}
    spec = job_of(["ppo"], model={"path": str(first / "sft")} | FLOAT16, rewards=[LENGTH], ppo=ppo)
    moved = [step.kl or 0.0 for step in trial_steps(spec).steps]
    assert 0 < moved[2] < moved[3] < moved[4]
